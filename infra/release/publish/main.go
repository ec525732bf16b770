// Command publish pushes what `make release` wrote into dist/ to the registry that the release names: each image, for
// all of its platforms, and the Helm chart. It writes published.txt: a line for each, by digest, as `cosign sign` and
// `helm pull` read it.
//
// What a reader must not get wrong: a version is published once. If the registry has another image or chart under the
// same tag, nothing is pushed. What it has already is not pushed again, so a run that was cut off is repeated.
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

// thing is what a registry has under one tag.
type thing interface {
	// tag is its name.
	tag() name.Tag
	// isThere tells whether the registry has it. It is an error if the registry has another one under the tag.
	isThere(ctx context.Context) (bool, error)
	// push pushes it.
	push(ctx context.Context) error
	// published returns its name and digest in the registry.
	published(ctx context.Context) (string, error)
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
	return publish(ctx, all, filepath.Join(*dist, "published.txt"), told)
}

// readRelease reads the images and the chart of a release, and unpacks the images into work.
func readRelease(dist, work string) ([]thing, error) {
	images, err := readImages(dist, work)
	if err != nil {
		return nil, err
	}
	c, err := readChart(dist, images[0].tag().Repository)
	if err != nil {
		return nil, err
	}
	all := []thing{c}
	for _, i := range images {
		all = append(all, i)
	}
	return all, nil
}

// publish pushes all that the registry does not have, and writes a list of all.
func publish(ctx context.Context, all []thing, list string, told io.Writer) error {
	there := make([]bool, len(all))
	for i, x := range all {
		var err error
		if there[i], err = x.isThere(ctx); err != nil {
			return err
		}
	}
	var lines strings.Builder
	for i, x := range all {
		did := "is there already"
		if !there[i] {
			if err := x.push(ctx); err != nil {
				return fmt.Errorf("push %s: %w", x.tag(), err)
			}
			did = "pushed"
		}
		line, err := x.published(ctx)
		if err != nil {
			return fmt.Errorf("read back %s: %w", x.tag(), err)
		}
		fmt.Fprintf(told, "%s: %s\n", line, did)
		fmt.Fprintln(&lines, line)
	}
	return os.WriteFile(list, []byte(lines.String()), 0o644)
}
