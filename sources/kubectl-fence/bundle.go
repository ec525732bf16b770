package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/shared/buildinfo"
	"github.com/nodefence/nodefence/sources/kubectl-fence/bundle"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) bundleCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Write everything a supporter needs into one archive, and read no Secret",
		Long: `Write everything a supporter needs into one archive: nodefence's objects and their Events, the
nodes, ConfigMaps, logs of nodefence's pods, and why each fence stands where it stands. No Secret is
read. Of ConfigMaps and bound devices only values that are known to be harmless are kept. What has
one of the usual forms of a credential is taken out of every file; look through it before you send
it. Names and addresses of nodes and devices are in it.`,
		Example: `  kubectl fence bundle
  kubectl fence bundle -f - | ssh support@example.com 'cat > bundle.tar.gz'`,
		Args: noArgument,
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "Where to write it; - is the standard output (nodefence-bundle-TIME.tar.gz)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.client()
		if err != nil {
			return err
		}
		if file == "" {
			file = "nodefence-bundle-" + time.Now().UTC().Format("20060102-150405") + ".tar.gz"
		}
		return p.bundle(cmd.Context(), c, file)
	}
	return cmd
}

// bundle writes the archive, and says what is not in it. One that fails leaves no file.
func (p *program) bundle(ctx context.Context, c *cluster.Client, file string) error {
	out, done, err := p.target(file)
	if err != nil {
		return err
	}
	files, missing, err := bundle.Write(ctx, out, c, p.namespace(), buildinfo.Version())
	if err = errors.Join(err, done()); err != nil {
		if file != "-" {
			err = errors.Join(err, os.Remove(file)) // half of an archive would pass for one
		}
		return fmt.Errorf("write %s: %w", file, err)
	}
	for _, m := range missing {
		fmt.Fprintf(p.ErrOut, "missing: %s\n", view.OneLine(m))
	}
	fmt.Fprintf(p.ErrOut, "%s: %d files\n", file, len(files))
	return nil
}

// target opens a new file for the user alone, or is the standard output.
func (p *program) target(file string) (io.Writer, func() error, error) {
	if file == "-" {
		return p.Out, func() error { return nil }, nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}
