// Command publish pushes the images and the Helm chart in dist/ to the registry that `make release` named. Each image is
// pushed for all platforms. The file published.txt lists images and chart by digest, as `cosign sign` and `helm pull`
// read a reference.
//
// What a reader must not get wrong: a version is published once. If a tag of the release names different content in the
// registry, nothing is pushed. Content that the registry has is not pushed again, so an interrupted run can be repeated.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

// artifact is an image or a chart of a release.
type artifact interface {
	// getTag returns the tag in the registry.
	getTag() name.Tag
	// isPublished reports whether the registry has the artifact. Different content under the tag is an error.
	isPublished(ctx context.Context) (bool, error)
	// pushContent writes the artifact to the registry.
	pushContent(ctx context.Context) error
}

func run(ctx context.Context, args []string, told io.Writer) error {
	fs := flag.NewFlagSet("publish", flag.ContinueOnError)
	dist := fs.String("dist", "../../dist", "`folder` with what `make release` wrote")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", fs.Arg(0))
	}
	work, err := os.MkdirTemp("", "nodefence-publish-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	all, err := readRelease(*dist, work)
	if err != nil {
		return err
	}
	return publishAll(ctx, all, filepath.Join(*dist, "published.txt"), told)
}

// readRelease reads the images and the chart of a release. The images are unpacked into the folder work.
func readRelease(dist, work string) ([]artifact, error) {
	images, err := readImages(dist, work)
	if err != nil {
		return nil, err
	}
	c, err := readChart(dist, images[0].getTag().Repository)
	if err != nil {
		return nil, err
	}
	all := []artifact{c}
	for _, i := range images {
		all = append(all, i)
	}
	return all, nil
}

// publishAll pushes the artifacts that the registry does not have, and lists all artifacts in a file. Every tag is read
// before the first push.
func publishAll(ctx context.Context, all []artifact, list string, told io.Writer) error {
	there := make([]bool, len(all))
	for i, x := range all {
		var err error
		if there[i], err = x.isPublished(ctx); err != nil {
			return err
		}
	}
	var lines strings.Builder
	for i, x := range all {
		did := "is there already"
		if !there[i] {
			if err := x.pushContent(ctx); err != nil {
				return fmt.Errorf("push %s: %w", x.getTag(), err)
			}
			did = "pushed"
		}
		line, err := readDigest(ctx, x.getTag())
		if err != nil {
			return fmt.Errorf("read back %s: %w", x.getTag(), err)
		}
		fmt.Fprintf(told, "%s: %s\n", line, did)
		fmt.Fprintln(&lines, line)
	}
	return os.WriteFile(list, []byte(lines.String()), 0o644)
}
