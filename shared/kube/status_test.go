package kube

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAStatusOfTomorrowStays: what a newer program wrote into a status is not lost when this one
// writes its own fields. Its own fields that are empty now are removed.
func TestAStatusOfTomorrowStays(t *testing.T) {
	for name, c := range map[string]struct {
		path, was, want string
		save            func(ctx context.Context, c *Client) error
	}{
		"a policy's": {
			policiesPath + "/a",
			`{"metadata":{"name":"a"},"spec":{"mode":"Enforce","novel":1},"status":{"heldCount":1,"held":[{"nodeName":"n","reason":"Paused","novel":1}],"coolDownUntil":"2026-01-01T00:00:00.000000Z","novel":{"missing":["m"]}}}`,
			`{"metadata":{"name":"a"},"spec":{"mode":"Enforce","novel":1},"status":{"fencesAllowed":0,"healthyNodes":0,"held":[{"nodeName":"o","reason":"Paused"}],"heldCount":1,"novel":{"missing":["m"]},"openFences":0,"selectedNodes":0,"unhealthyNodes":0}}`,
			func(ctx context.Context, c *Client) error {
				p, err := c.Policy(ctx, "a")
				if err != nil {
					return err
				}
				p.Status.CoolDownUntil, p.Status.Held[0].NodeName = nil, "o"
				return c.SavePolicyStatus(ctx, p)
			},
		},
		"a budget's": {
			budgetsPath + "/a",
			`{"metadata":{"name":"a"},"spec":{"novel":1},"status":{"expectedNodes":3,"observedAt":"2026-01-01T00:00:00.000000Z","novel":1}}`,
			`{"metadata":{"name":"a"},"spec":{"novel":1},"status":{"availableNodes":0,"disruptionsAllowed":0,"expectedNodes":4,"fencingNodes":0,"novel":1}}`,
			func(ctx context.Context, c *Client) error {
				b, err := get[api.FenceBudget](ctx, c, budgetsPath+"/a")
				if err != nil {
					return err
				}
				b.Status.ExpectedNodes, b.Status.ObservedAt = 4, nil
				return c.SaveBudgetStatus(ctx, b)
			},
		},
		"a FenceTarget's": {
			targetsPath + "/a",
			`{"metadata":{"name":"a"},"status":{"hostHA":"SUSPECT","checkNow":{"value":"x","at":"2026-01-01T00:00:00.000000Z","doneAt":"2026-01-01T00:00:00.000000Z","novel":1},"claim":{"holder":"me","at":"2026-01-01T00:00:00.000000Z","notAfter":"2026-01-01T00:00:00.000000Z"},"novel":1}}`,
			`{"metadata":{"name":"a"},"status":{"checkNow":{"at":"2026-01-01T00:00:00.000000Z","novel":1,"value":"y"},"hostHA":"SUSPECT","novel":1}}`,
			func(ctx context.Context, c *Client) error {
				ft, err := c.Target(ctx, "a")
				if err != nil {
					return err
				}
				ft.Status.Claim, ft.Status.CheckNow.Value, ft.Status.CheckNow.DoneAt = nil, "y", nil
				_, err = c.SaveTarget(ctx, ft)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.set(c.path, c.was)
			if err := c.save(t.Context(), f.Client); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, f.text(c.path)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestListsOfTomorrowStay: a list on which decisions rest, and which this program does not fully
// understand, stays as it is; the rest of the status is written.
func TestListsOfTomorrowStay(t *testing.T) {
	f := newFakeAPI(t)
	const missing = `"missing":[{"heldBy":"me","nodeName":"a","since":"2026-01-01T00:00:00.000000Z"}]`
	f.set(policiesPath+"/a", `{"metadata":{"name":"a"},"status":{`+missing+`,"heldCount":1}}`)
	p, err := f.Policy(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	p.Status.Missing, p.Status.HeldCount, p.Status.OpenFences = nil, 0, 2
	if err := f.SavePolicyStatus(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := f.text(policiesPath + "/a"); !strings.Contains(got, missing) || !strings.Contains(got, `"openFences":2`) {
		t.Error(got)
	}
}

// TestARequestOfTomorrowStays: when a fence opens, this program does not remove a request that
// only a newer program knows, which may be a brake; nor any other field.
func TestARequestOfTomorrowStays(t *testing.T) {
	f := newFakeAPI(t)
	f.set(fencePath, `{"metadata":{"finalizers":["theirs"],"name":"a","uid":"f1"},"spec":{"nodeName":"a","novel":1,"requests":{"abort":{"by":"anna","at":"2026-01-01T00:00:00Z"},"freeze":{"by":"anna"}}},"status":{"novel":1}}`)
	nf, err := f.Fence(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	now, err := f.ClearRequests(t.Context(), nf)
	if err != nil || now.Name != "a" || now.Spec.Requests != (api.Requests{}) {
		t.Fatalf("%+v, %v", now, err)
	}
	want := `{"metadata":{"finalizers":["theirs","` + api.Finalizer + `"],"name":"a","uid":"f1"},"spec":{"nodeName":"a","novel":1,"requests":{"freeze":{"by":"anna"}}},"status":{"novel":1}}`
	if d := cmp.Diff(want, f.text(fencePath)); d != "" {
		t.Error(d)
	}
}

// TestOlderKindsRefuseAPatch: the API server would drop a field that it does not know silently,
// and it names the field only at the end of a long message.
func TestOlderKindsRefuseAPatch(t *testing.T) {
	f := newFakeAPI(t)
	path := policiesPath + "/a/status"
	f.set(policiesPath+"/a", `{"metadata":{"name":"a"}}`)
	f.answer[path] = func(w http.ResponseWriter, r request) {
		if r.Query.Get("fieldValidation") != "Strict" {
			t.Errorf("asked %v", r.Query)
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":" \"\" is invalid: patch: Invalid value: \"{\\\"all\\\": 1}\": strict decoding error: unknown field \"status.held\""}`))
	}
	p, err := f.Policy(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	const want = `patch ` + policiesPath + `/a/status: nodefence's kinds are older here than this program (kubectl apply --server-side -k infra/crd): strict decoding error: unknown field "status.held"`
	if err := f.SavePolicyStatus(t.Context(), p); err == nil || err.Error() != want || strings.Contains(err.Error(), "all") {
		t.Error(err)
	}
}
