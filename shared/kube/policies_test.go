package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatIsNotUnderstoodIsReadAllTheSame: a policy or a budget that can't be read in part does
// not keep others from being read. It reports that to each run, also to one that does not read it
// again.
func TestWhatIsNotUnderstoodIsReadAllTheSame(t *testing.T) {
	f := newFakeAPI(t)
	const well = `"selector":{},"mode":"Enforce","action":"Reboot"`
	f.set(policiesPath, `{"items":[{"metadata":{"name":"well"},"spec":{`+well+`}},{"metadata":{"name":"bad"},"spec":{`+well+`,"limits":9}},{"metadata":{"name":"new"},"spec":{`+well+`,"drainFirst":true}}]}`)
	f.set(budgetsPath, `{"items":[{"metadata":{"name":"bad"},"spec":1},{"metadata":{"name":"well"},"spec":{"selector":{},"minAvailable":1}}]}`)
	ctx := WithFunction(t.Context(), "gate")
	for _, read := range []func(context.Context) ([]api.FencePolicy, error){f.Policies, f.NewReader(0).Policies} {
		all, err := read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var says []string
		for i := range all {
			says = append(says, all[i].NotUnderstood.Words(all[i].Name))
		}
		want := []string{"", "bad has spec.limits, which can't be read (cannot unmarshal number into Go value of type v1alpha1.Limits): correct that",
			"new has spec.drainFirst, which this nodefence does not know: upgrade nodefence, or take the field out"}
		if d := cmp.Diff(want, says); d != "" {
			t.Error(d)
		}
	}
	if len(f.asked) != 1 {
		t.Errorf("the policies were read %d times", len(f.asked))
	}
	all, err := f.FenceBudgets(ctx)
	if err != nil || len(all) != 2 || !all[0].NotUnderstood.Everywhere || all[1].NotUnderstood.Any() {
		t.Errorf("%v: %+v", err, all)
	}
	const rules = `"selector":{},"rules":[{"name":"r","kubernetesEvent":{"reason":"R"}}]`
	f.set(problemsPath, `{"items":[{"metadata":{"name":"bad"},"spec":{"selector":{},"rules":"all"}},{"metadata":{"name":"new"},"spec":{`+rules+`,"quorum":2}},{"metadata":{"name":"well"},"spec":{`+rules+`}}]}`)
	problems, err := f.NodeProblemPolicies(ctx)
	if err != nil || len(problems) != 3 || !problems[0].NotUnderstood.Any() || !problems[1].NotUnderstood.Any() || problems[2].NotUnderstood.Any() || len(problems[2].Spec.Rules) != 1 {
		t.Errorf("%v: %+v", err, problems)
	}
}
