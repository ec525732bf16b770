package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

// templateTicks is how many ticks lie between two looks at the templates.
const templateTicks = 5

func (a *Adopter) runTemplates(ctx context.Context, every time.Duration) {
	run.Every(ctx, templateTicks*every, a.Log, Name, "looking at FenceAgentsRemediationTemplates failed; a later tick tries again", a.LookAtTemplates)
}

// LookAtTemplates asks for checks of the nodes of new and changed templates. Into the status of each template with
// spec.statusValidationSample it writes what the checks of healthy nodes have read of the template's devices. It reads
// no device. While Fence Agents Remediation runs, or may run, no status is written.
func (a *Adopter) LookAtTemplates(ctx context.Context) error {
	ctx = kube.WithFunction(ctx, Name)
	all, failed := a.templates(ctx)
	failed = append(failed, a.wakeChecks(ctx, all))
	live, unsure, err := a.itself(ctx)
	if err != nil || live != "" || unsure {
		return errors.Join(append(failed, err)...)
	}
	turns := a.samples.turns(all)
	asking, err := a.asking(ctx, turns)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	for i := range all {
		if err := a.validate(ctx, &all[i], turns[i], asking); err != nil && !errors.Is(err, kube.ErrConflict) {
			failed = append(failed, fmt.Errorf("%s %s/%s: %w", far.TemplateKind, all[i].Namespace, all[i].Name, err))
		}
	}
	return errors.Join(failed...)
}

// templates are those of the namespaces that count.
func (a *Adopter) templates(ctx context.Context) (all []far.Template, failed []error) {
	for _, namespace := range a.Namespaces {
		some, err := a.Objects.FARTemplates(ctx, namespace)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for FenceAgentsRemediationTemplates in namespace %s: %w", namespace, err))
		}
		all = append(all, some...)
	}
	return all, failed
}

// turns are the nodes of each template whose turn it is in this look.
func (s *samples) turns(all []far.Template) [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	turns, next := make([][]string, len(all)), map[types.UID]string{}
	for i := range all {
		nodes, uid := far.Unvalidated(&all[i]), all[i].UID
		if len(nodes) > mostTargets {
			at, _ := slices.BinarySearch(nodes, s.next[uid])
			nodes = slices.Concat(nodes[at:], nodes[:at])
			next[uid], nodes = nodes[mostTargets], nodes[:mostTargets]
		}
		turns[i] = nodes
	}
	s.next = next
	return turns
}

// asking are the nodes whose device is that of an object that asks. They are read only where a node of
// a template is looked at.
func (a *Adopter) asking(ctx context.Context, turns [][]string) (map[string]bool, error) {
	if len(slices.Concat(turns...)) == 0 {
		return nil, nil
	}
	objects, _, failed := a.list(ctx)
	nodes := map[string]bool{}
	for i := range objects {
		if node, err := far.Node(&objects[i]); err == nil && far.Asks(&objects[i]) {
			nodes[node] = true
		}
	}
	return nodes, errors.Join(failed...)
}

// validate reads what is known of these nodes of a template, and writes its status if that differs.
func (a *Adopter) validate(ctx context.Context, t *far.Template, nodes []string, asking map[string]bool) error {
	seen := map[string]far.SampledNode{}
	for _, node := range nodes {
		is := far.SampledNode{There: true, Asked: asking[node]}
		var err error
		if is.Target, err = a.Objects.Target(ctx, node); err != nil {
			return err
		}
		if is.Target == nil {
			n, err := a.Objects.Node(ctx, node)
			if err != nil {
				return err
			}
			is.There = n != nil
		}
		seen[node] = is
	}
	st := far.Validate(t, seen, a.Now())
	if equality.Semantic.DeepEqual(st, t.Status) {
		return nil
	}
	if err := a.Objects.SaveFARTemplateStatus(ctx, t, st); err != nil {
		return err
	}
	a.Log.Info("wrote the status of a FenceAgentsRemediationTemplate", "function", Name, "namespace", t.Namespace, "name", t.Name, "failed", len(st.ValidationFailed))
	return nil
}
