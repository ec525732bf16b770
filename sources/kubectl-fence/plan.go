package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/plan"
)

// The exit codes of plan.
const (
	planRefused = 1 // or known to be unusable
	planFailed  = 2
	planAbsent  = 3 // of the others the worst: nothing is wrong with the nodes, and nothing would begin
)

const planLong = `Say how a node would be fenced, or why it would be refused, before a fence is needed: policy,
limits, devices, where each value of their configuration stands, and the calls in order. It reads
from the API server, speaks with no device, and changes nothing. It does not see the settings that
nodefence runs with: give it the same.

With --read it first asks nodefence, as it runs in the cluster, to read the node's devices now, and
waits for the answer: it writes annotation nodefence.io/check-now of the FenceTarget, for which you
need the right to patch fencetargets.

Exit codes:
  0  the node would be fenced so; "now" says whether something holds it this minute
  1  the node is refused, or one of its devices is known not to answer (with --all: of any)
  2  it could not be found out: no such node, no answer, wrong flags, or nodefence itself has found
     something else than is found here
  3  each node would be fenced so, but nodefence does not run, so that nothing would begin: the first line
     on standard error says which part is absent. A script that checks a configuration before nodefence
     runs takes 3 for 0`

func (p *program) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan NODE|--all",
		Short: "Say how a node would be fenced, or why it would be refused",
		Long:  planLong,
		Example: `  kubectl fence plan worker-7
  kubectl fence plan --all
  kubectl fence plan --read worker-7`,
		ValidArgsFunction: p.nodes(),
	}
	var o plan.Options
	all := false
	f := cmd.Flags()
	out := outputFlag(cmd, "text", "json", "yaml")
	f.BoolVar(&all, "all", false, "All nodes, with a line each")
	f.BoolVar(&o.Read, "read", false, "Have nodefence read the node's devices now, and wait for the answer")
	planFlags(cmd, &o)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return coded{wrongFlag(cmd, err), planFailed} })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		reports, absent, err := p.plans(cmd, &o, args, all, out)
		if err != nil {
			return coded{cluster.Explain(err), planFailed}
		}
		switch {
		case slices.ContainsFunc(reports, func(r plan.Report) bool { return r.Bad() }):
			return coded{nil, planRefused}
		case slices.ContainsFunc(reports, func(r plan.Report) bool { return r.Unknown != "" }):
			return coded{nil, planFailed}
		case absent != "":
			return coded{nil, planAbsent}
		}
		return nil
	}
	return cmd
}

// planFlags add where the parts of a plan are, and what nodefence is set to. They have the names that
// the flags of nodefence-local have, or their variables.
func planFlags(cmd *cobra.Command, o *plan.Options) {
	f := cmd.Flags()
	o.RequestNamespaces = ask.Namespaces{ownNamespace}
	f.StringVar(&o.SecretsNamespace, "secrets-namespace", "nodefence-devices", "The namespace of the devices' Secrets")
	f.StringVar(&o.AgentsDir, "agents-dir", "/usr/sbin", "The folder of the ClusterLabs fence agents; they are asked for their metadata only")
	f.StringSliceVar(&o.JobImages, "job-images", nil, "Images that a method's job_image may name (NODEFENCE_JOB_IMAGES of the functions)")
	f.Func("adopt", "`kinds` of other projects' objects, by commas, that nodefence answers: far, mhc (NODEFENCE_ADOPT of the functions; none by default)", o.Adopt.Decode)
	f.Func("adopt-namespaces", "`namespaces`, by commas, whose objects are adopted (NODEFENCE_ADOPT_NAMESPACES; for far those of --request-namespaces by default)", o.AdoptNamespaces.Decode)
	f.Func("request-namespaces", "`namespaces`, by commas, whose FenceRequests count (NODEFENCE_REQUEST_NAMESPACES; "+ownNamespace+" by default)", o.RequestNamespaces.Decode)
}

// plans makes the reports, and shows them. absent says which part of nodefence does not run; empty if none is known.
func (p *program) plans(cmd *cobra.Command, o *plan.Options, args []string, all bool, out *output) (reports []plan.Report, absent string, err error) {
	switch {
	case len(args) > 1 || all == (len(args) == 1):
		return nil, "", errors.New("name one node, or --all")
	case all && o.Read:
		return nil, "", errors.New("--read takes one node, and not --all")
	case !all:
		o.Node = nodeNamed(args[0])
	}
	if err := out.check(); err != nil {
		return nil, "", err
	}
	if reports, absent, err = p.planned(cmd.Context(), *o); err != nil {
		return nil, "", err
	}
	if absent != "" {
		p.note([]string{absent})
	}
	return reports, absent, p.showPlans(out, all, reports)
}

// showPlans prints one report, or many with a line each.
func (p *program) showPlans(out *output, many bool, all []plan.Report) error {
	if many {
		if did, err := items(out, p.Out, all); did {
			return err
		}
	} else if did, err := out.value(p.Out, all[0]); did {
		return err
	}
	return plan.Show(p.Out, many, all)
}

// planned are the reports, made of what the API server has now, and which part of nodefence is absent.
func (p *program) planned(ctx context.Context, o plan.Options) ([]plan.Report, string, error) {
	cfg, err := p.connection()
	if err != nil {
		return nil, "", err
	}
	cfg.UserAgent = cluster.UserAgent
	o.Namespace = p.namespace()
	return plan.Make(ctx, cfg, o)
}
