package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// program is one run of the plugin.
type program struct {
	genericiooptions.IOStreams
	// terminal tells whether a person can answer at In.
	terminal func() bool
	// start starts another program: the browser.
	start func(name string, args ...string) error
	// again says when status -w looks although nothing changes; nil: each lookAgain.
	again  <-chan time.Time
	config *genericclioptions.ConfigFlags
}

// ownNamespace is where nodefence, its ConfigMaps and FenceRequests are unless -n says otherwise.
const ownNamespace = view.OwnNamespace

// wrongFlag says of a flag that is not taken where those stand that are.
func wrongFlag(cmd *cobra.Command, err error) error {
	if m := unparsed.FindStringSubmatch(err.Error()); m != nil {
		err = fmt.Errorf("%s takes %s, and not %q", m[2], taken[m[3]], m[1])
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// unparsed is what pflag says of a value that is none of its flag's type.
var unparsed = regexp.MustCompile(`^invalid argument "(.*)" for "(.*)" flag: (strconv\.ParseInt|strconv\.ParseBool|time):`)

// taken is what a flag of each type takes.
var taken = map[string]string{"strconv.ParseInt": "a whole number", "strconv.ParseBool": "true or false", "time": "a duration such as 10m"}

// connection is how the cluster is reached. Where nothing names a cluster, client-go would try this
// machine.
func (p *program) connection() (*rest.Config, error) {
	cfg, err := p.config.ToRESTConfig()
	if file, is := errors.AsType[*fs.PathError](err); is {
		return nil, fmt.Errorf("the kubeconfig %s can't be read: %w; correct --kubeconfig", file.Path, file.Err)
	}
	if err != nil {
		return nil, err
	}
	loader := p.config.ToRawKubeConfigLoader()
	cfg.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true}) // as kubectl says them
	raw, err := loader.RawConfig()
	if err != nil || *p.config.APIServer != "" || cfg.BearerTokenFile != "" {
		return cfg, nil
	}
	switch {
	case len(raw.Clusters) == 0:
		return nil, cluster.NoCluster(loader.ConfigAccess().GetLoadingPrecedence())
	case raw.CurrentContext == "" && *p.config.Context == "" && *p.config.ClusterName == "":
		return nil, cluster.NoContext(slices.Sorted(maps.Keys(raw.Contexts)))
	}
	return cfg, nil
}

// client connects to the cluster.
func (p *program) client() (*cluster.Client, error) {
	cfg, err := p.connection()
	if err != nil {
		return nil, err
	}
	c, err := cluster.New(cfg)
	if err == nil {
		c.Namespace = p.namespace()
	}
	return c, err
}

// namespace is that of nodefence.
func (p *program) namespace() string {
	if n := *p.config.Namespace; n != "" {
		return n
	}
	return ownNamespace
}

// coded is an error with an exit code of its own, and without words where it has been told.
type coded struct {
	error
	code int
}

// inOneLine is an error without its line breaks, as it may stand on a terminal.
func inOneLine(err error) string {
	var parts []string
	for l := range strings.Lines(err.Error()) {
		if l = strings.TrimSpace(l); l != "" {
			parts = append(parts, l)
		}
	}
	return view.OneLine(strings.ReplaceAll(strings.Join(parts, "; "), "?; ", "? "))
}
