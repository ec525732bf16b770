// Command release writes what a release of nodefence holds besides its programs and images: a
// manifest for each overlay, the Helm chart, the OLM bundle, and the SAM template with the program.
//
// What a reader must not get wrong: two runs of one commit write the same bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nodefence/nodefence/infra/release/archive"
	"github.com/nodefence/nodefence/infra/release/bundle"
	"github.com/nodefence/nodefence/infra/release/chart"
	"github.com/nodefence/nodefence/infra/release/manifests"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one run.
type release struct {
	root, out string
	images    manifests.Images
	lambda    map[string]string
	told      io.Writer
}

func run(args []string, told io.Writer) error {
	r := release{told: told, lambda: map[string]string{}}
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&r.root, "root", "../..", "`folder` of the repository")
	fs.StringVar(&r.out, "out", "../../dist", "`folder` that is written into")
	fs.StringVar(&r.images.Version, "version", "", "the release's `version`, such as v0.1.0: the tag of its images")
	fs.StringVar(&r.images.Registry, "registry", "", "`repository` under which its images are, such as registry.example.com/nodefence; without it no image has a name")
	for _, architecture := range []string{"arm64", "x86_64"} {
		fs.Func("lambda-"+architecture, "`file`: nodefence, built for Lambda on "+architecture, func(file string) error {
			r.lambda[architecture] = file
			return nil
		})
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", fs.Arg(0))
	}
	if err := r.images.Valid(); err != nil {
		return err
	}
	if _, err := chart.Semantic(r.images.Version); err != nil {
		return err
	}
	return r.all()
}

func (r release) all() error {
	s := manifests.Source{Infra: filepath.Join(r.root, "infra"), Images: r.images}
	for _, step := range []func(manifests.Source) error{r.manifests, r.chart, r.bundle, r.stacks} {
		if err := step(s); err != nil {
			return err
		}
	}
	return nil
}

// manifests are one file for each thing that is applied, and deleted, by itself.
func (r release) manifests(s manifests.Source) error {
	for name, folder := range map[string]string{"namespaces": "namespaces", "crd": "crd", "people": "people", "aws-cluster": "aws/cluster", "aws-source": "aws/cluster/source"} {
		all, err := s.Folder(folder)
		if err == nil {
			err = r.yaml(name, all)
		}
		if err != nil {
			return err
		}
	}
	for _, platform := range append([]string{manifests.Standalone}, manifests.Platforms...) {
		all, err := s.Platform(platform)
		if err == nil {
			err = r.yaml(platform, all)
		}
		if err != nil {
			return err
		}
	}
	if err := r.whole(s); err != nil {
		return err
	}
	ledger, err := os.ReadFile(filepath.Join(s.Infra, "crd/ledger/ledger.yaml"))
	if err != nil {
		return err
	}
	return r.write("nodefence-ledger.yaml", ledger)
}

// whole is one file that installs nodefence without Knative. It has no FenceLedger: an API server takes no object of a
// kind that the same command has brought, and nodefence creates the ledger.
func (r release) whole(s manifests.Source) error {
	var all []manifests.Object
	for _, folder := range []string{"namespaces", "crd", manifests.Standalone} {
		objects, err := s.Folder(folder)
		if err != nil {
			return err
		}
		all = append(all, objects...)
	}
	text, err := manifests.YAML("nodefence "+r.images.Version+": kubectl apply --server-side -f nodefence.yaml\nDelete nothing by this file: the namespaces have the Secrets of the devices, and the kinds have the records.", all)
	if err != nil {
		return err
	}
	return r.write("nodefence.yaml", text)
}

func (r release) yaml(name string, all []manifests.Object) error {
	text, err := manifests.YAML("nodefence "+r.images.Version, all)
	if err != nil {
		return err
	}
	return r.write("nodefence-"+name+".yaml", text)
}

// chart is what `helm install` takes.
func (r release) chart(s manifests.Source) error {
	settings, err := manifests.Settings(r.root)
	if err != nil {
		return err
	}
	files, err := chart.Make(s, settings)
	if err != nil {
		return fmt.Errorf("make the chart: %w", err)
	}
	version, err := chart.Semantic(r.images.Version)
	if err != nil {
		return err
	}
	return r.tarGz("nodefence-"+version+".tgz", files)
}

// bundle is OLM's, and what OLM does not install.
func (r release) bundle(s manifests.Source) error {
	version, err := chart.Semantic(r.images.Version)
	if err != nil {
		return err
	}
	b, err := bundle.Make(s, version)
	if err != nil {
		return fmt.Errorf("make the bundle: %w", err)
	}
	if err := r.yaml("olm-rest", b.Rest); err != nil {
		return err
	}
	return r.tarGz("nodefence-olm-bundle.tar.gz", b.Files)
}

func (r release) tarGz(name string, files archive.Files) error {
	packed, err := archive.TarGz(files)
	if err != nil {
		return err
	}
	return r.write(name, packed)
}

func (r release) write(name string, text []byte) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, name), text, 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintln(r.told, filepath.Join(r.out, name))
	return err
}
