package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// actsInWords are all FenceActs, in the order of their object's changes.
func (w *world) actsInWords() ([]string, error) {
	all, err := w.Fences.Acts(w.ctx)
	slices.SortFunc(all, func(a, b api.FenceAct) int {
		return cmp.Or(cmp.Compare(a.Spec.Object.Kind, b.Spec.Object.Kind), cmp.Compare(a.Spec.Object.Generation, b.Spec.Object.Generation))
	})
	var out []string
	for i := range all {
		is := &all[i].Spec
		words := fmt.Sprintf("%s %s %q -> %q", is.Field, is.Object.Name, is.From, is.To)
		for _, more := range []string{is.By, is.Reason} {
			if more != "" {
				words += ", " + more
			}
		}
		if is.Unnamed {
			words += ", unnamed"
		}
		if is.MadeBefore {
			words += ", made before"
		}
		out = append(out, words)
	}
	return out, err
}

// recorded waits until so many acts are recorded, and returns them.
func (w *world) recorded(n int) (all []string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d acts to be recorded", n), func() (bool, error) {
		var err error
		all, err = w.actsInWords()
		return len(all) >= n, err
	})
	return all
}

// does runs the plugin, which must succeed.
func (w *world) does(args ...string) {
	w.t.Helper()
	if code, said := w.plugin(args...); code != 0 {
		w.t.Fatalf("%v: %s", args, said)
	}
}

// TestActsOfPeopleAreRecorded: stop and start, with the plugin and without, a pause, an approval and a confirmation
// leave one record each, with the name where there is one. So does what is done while no source runs. A source that
// begins anew doubles none (S20).
func TestActsOfPeopleAreRecorded(t *testing.T) {
	w := newWorld(t, 3, quick+"mode: RequireApproval\n")
	p := w.start(nil)
	must(t, p.Watching(w.ctx)) // what is done earlier is recorded as made before
	w.until("the ledger", func() (bool, error) { l, err := w.Fences.Ledger(w.ctx); return l != nil, err })
	w.does("stop", "--reason", "switches", "--yes")
	w.recorded(1)
	w.stop(false)
	w.stop(true)
	w.does("start", "--reason", "replaced", "--yes")
	w.recorded(4)
	if code, said := w.plugin("stop", "--yes"); code != 0 || w.recorded(5) == nil {
		t.Fatal(said)
	}
	_, status := w.plugin("status")
	if want := "; stopped by lab-admin at "; !strings.Contains(status, want) {
		t.Errorf("status does not say %q: %s", want, status)
	}
	w.does("start", "--yes")
	w.does("pause", "default", "--as-name", "upgrade", "--reason", "v2", "--yes")
	w.does("resume", "default", "--as-name", "upgrade", "--yes")
	w.recorded(8)
	dead := node(0)
	must(t, w.Lab.Fault(dead, "hang"))
	w.node(dead, "power-loss")
	w.held(dead, api.WaitingForApproval)
	w.does("approve", dead, "--reason", "seen dead", "--yes", "--wait", "0s")
	w.recorded(9)
	w.phase(dead, api.Fencing)
	w.confirm(dead, 1)
	want := []string{
		`Stop cluster "false" -> "true", lab-admin, switches`, `Stop cluster "true" -> "false", unnamed`, `Stop cluster "false" -> "true", unnamed`,
		`Stop cluster "true" -> "false", lab-admin, replaced`, `Stop cluster "false" -> "true", lab-admin`, `Stop cluster "true" -> "false", lab-admin`,
		`Pause default "" -> "upgrade", lab-admin, v2`, `Pause default "upgrade" -> "", lab-admin`,
		`Approve ` + dead + ` "" -> "fence 1", lab-admin, seen dead`, `ConfirmOff ` + dead + ` "" -> "fence 1", lab-admin`,
	}
	if got := w.recorded(len(want)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	p.Stop()
	w.stop(true)
	w.start(nil)
	want = slices.Insert(want, 6, `Stop cluster "false" -> "true", unnamed, made before`)
	if got := w.recorded(len(want)); !slices.Equal(got, want) {
		t.Errorf("after the source began anew: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	w.doesNotChange()
}

// doesNotChange tries to change an act.
func (w *world) doesNotChange() {
	w.t.Helper()
	all, err := w.Fences.Acts(w.ctx)
	must(w.t, err)
	for _, body := range []string{`{"spec":{"by":"eve","unnamed":false}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"x"}]}}`} {
		err := w.Kube.CoreV1().RESTClient().Patch("application/merge-patch+json").AbsPath("/apis/nodefence.io/v1alpha1/fenceacts/" + all[0].Name).Body([]byte(body)).Do(w.ctx).Error()
		if err == nil || !strings.Contains(err.Error(), "does not change") {
			w.t.Errorf("%s: %v", body, err)
		}
	}
}
