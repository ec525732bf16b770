package kube

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	nodePath     = "/api/v1/nodes/a"
	ours         = `{"effect":"NoSchedule","key":"nodefence.io/isolated","value":"f1"}`
	foreign      = `{"effect":"NoExecute","key":"example.com/theirs","later":12345678901234567890,"timeAdded":"2026-01-01T00:00:00Z","value":"x"}`
	earlier      = `{"effect":"NoSchedule","key":"nodefence.io/isolated","value":"f0"}`
	outOf        = `{"effect":"NoExecute","key":"node.kubernetes.io/out-of-service","value":"nodeshutdown"}`
	theirOut     = `{"effect":"NoExecute","key":"node.kubernetes.io/out-of-service","value":"by hand"}`
	manages      = `"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:unschedulable":{}}},"manager":"nodefence","operation":"Update"}],`
	holds        = `"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:cluster-autoscaler.kubernetes.io/scale-down-disabled":{}}}},"manager":"nodefence","operation":"Update"}],`
	holdsPool    = `"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:karpenter.sh/do-not-disrupt":{}}}},"manager":"nodefence","operation":"Update"}],`
	nodeshutdown = "nodeshutdown"
	byKube       = `"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:unschedulable":{}}},"manager":"kubectl-cordon","operation":"Update"}],`
)

// held is that node with the annotation against its deletion by an autoscaler.
func held(node, word string) string {
	return strings.Replace(node, `{"a":"1"}`, `{"a":"1","cluster-autoscaler.kubernetes.io/scale-down-disabled":"`+word+`"}`, 1)
}

// disrupt is that node with the annotation against its deletion by Karpenter.
func disrupt(node string) string {
	before, after, _ := strings.Cut(node, `},"labels"`)
	return before + `,"karpenter.sh/do-not-disrupt":"true"},"labels"` + after
}

// placed is that node with the annotation that says which fence the out-of-service taint is of.
func placed(node string) string {
	return strings.Replace(node, `{"a":"1"`, `{"a":"1","nodefence.io/out-of-service-by":"f1"`, 1)
}

// karpenters is that node as Karpenter makes one.
func karpenters(node string) string {
	return strings.Replace(node, `"labels":{`, `"labels":{"karpenter.sh/nodepool":"p",`, 1)
}

// node is a Node as text, with its keys in order and with fields that are not known here.
func node(managed, taints, unschedulable string) string {
	spec := `"novel":{"n":1e400},"podCIDR":"10.0.0.0/24"`
	if taints != "" {
		spec += `,"taints":[` + taints + `]`
	}
	if unschedulable != "" {
		spec += `,"unschedulable":` + unschedulable
	}
	return `{"metadata":{"annotations":{"a":"1"},"labels":{"theirs":"x"},` + managed + `"name":"a","uid":"u1"},"spec":{` + spec + `},"status":{"phase":"Running"}}`
}

// TestMarksLeaveEverythingElseAlone: what is not ours stays as it is, also fields that this code
// does not know (S22).
func TestMarksLeaveEverythingElseAlone(t *testing.T) {
	ctx := context.Background()
	isolate := func(c *Client) error { return c.Isolate(ctx, "a", "u1", "", "f1", true) }
	undo := func(c *Client) error { return c.RemoveIsolation(ctx, "a", "u1", "", "f1", true) }
	for name, c := range map[string]struct {
		node, want string
		do         func(c *Client) error
	}{
		"taint and cordon are placed in one write": {node("", foreign, ""), held(node("", foreign+","+ours, "true"), "true"), isolate},
		"on a node without taints":                 {node("", "", ""), held(node("", ours, "true"), "true"), isolate},
		"without the cordon where none is asked": {node("", foreign, ""), held(node("", foreign+","+ours, ""), "true"),
			func(c *Client) error { return c.Isolate(ctx, "a", "u1", "", "f1", false) }},
		"a cordon that is there stays":                  {node("", foreign, "true"), held(node("", foreign+","+ours, "true"), "true"), isolate},
		"an earlier fence's taint gives way to ours":    {node("", earlier+","+foreign, ""), held(node("", foreign+","+ours, "true"), "true"), isolate},
		"both are removed":                              {node(manages, foreign+","+ours, "true"), node(manages, foreign, ""), undo},
		"the last taint goes with its list":             {node(manages, ours, "true"), node(manages, "", ""), undo},
		"a cordon that somebody else set stays":         {node(byKube, foreign+","+ours, "true"), node(byKube, foreign, "true"), undo},
		"a cordon that is not asked for stays":          {node(manages, ours, "true"), node(manages, "", "true"), func(c *Client) error { return c.RemoveIsolation(ctx, "a", "u1", "", "f1", false) }},
		"the word against deletion that is there stays": {held(node("", foreign, ""), "false"), held(node("", foreign+","+ours, "true"), "false"), isolate},
		"ours goes with the rest":                       {held(node(holds, ours, ""), "true"), node(holds, "", ""), undo},
		"a node of Karpenter's has its word too":        {karpenters(node("", foreign, "")), disrupt(held(karpenters(node("", foreign+","+ours, "true")), "true")), isolate},
		"Karpenter's word that is there stays":          {karpenters(strings.Replace(node("", foreign, ""), `"a":"1"`, `"a":"1","karpenter.sh/do-not-disrupt":"5m"`, 1)), karpenters(strings.Replace(node("", foreign+","+ours, "true"), `"a":"1"`, `"a":"1","cluster-autoscaler.kubernetes.io/scale-down-disabled":"true","karpenter.sh/do-not-disrupt":"5m"`, 1)), isolate},
		"Karpenter's word goes if it is ours":           {disrupt(node(holdsPool, ours, "")), node(holdsPool, "", ""), undo},
		"Karpenter's word of another stays":             {disrupt(node(holds, ours, "")), disrupt(node(holds, "", "")), undo},
		"what a clearing left goes too":                 {strings.Replace(node(manages, ours, "true"), `"a":"1"`, `"a":"1","nodefence.io/touched":"true"`, 1), node(manages, "", ""), undo},
		"another's stays":                               {held(node(manages, ours, "true"), "true"), held(node(manages, "", ""), "true"), undo},
		"the taint of another fence stays":              {node("", earlier, ""), node("", earlier, ""), undo},
		"out of service":                                {node("", foreign, ""), placed(node("", foreign+","+outOf, "")), func(c *Client) error { return c.PlaceOutOfService(ctx, "a", "u1", "", "f1", nodeshutdown) }},
		"out of service for good":                       {node("", foreign, ""), placed(node("", foreign+","+strings.Replace(outOf, "nodeshutdown", "hardwarefailure", 1), "")), func(c *Client) error { return c.PlaceOutOfService(ctx, "a", "u1", "", "f1", "hardwarefailure") }},
		"another's words for it stand for ours":         {node("", theirOut, ""), node("", theirOut, ""), func(c *Client) error { return c.PlaceOutOfService(ctx, "a", "u1", "", "f1", nodeshutdown) }},
		"a node of the same name is another":            {strings.Replace(node("", foreign, ""), "u1", "u2", 1), strings.Replace(node("", foreign, ""), "u1", "u2", 1), isolate},
		"a node that is gone stays gone":                {"", "", isolate},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			if c.node != "" {
				api.set(nodePath, c.node)
			}
			if err := c.do(api.Client); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, api.text(nodePath)); d != "" {
				t.Error(d)
			}
			if err := c.do(api.Client); err != nil { // once more changes nothing
				t.Fatal(err)
			}
			most := 1
			if c.want == c.node {
				most = 0
			}
			if got := api.writes(); len(got) != most {
				t.Errorf("%d writes: %v", len(got), got)
			}
		})
	}
}

// TestMarksGiveWayToOtherWriters: each write is against the state that was read. The first writer
// wins, and we look again.
func TestMarksGiveWayToOtherWriters(t *testing.T) {
	for name, c := range map[string]struct {
		others int
		want   error
	}{
		"nobody else":             {0, nil},
		"once":                    {1, nil},
		"for as long as we try":   {tries, ErrConflict},
		"all but for as long":     {tries - 1, nil},
		"for longer than we try ": {tries + 5, ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, node("", "", ""))
			left := c.others
			api.before = func(f *fakeAPI) {
				if left--; left >= 0 {
					f.set(nodePath, node("", foreign, ""))
				}
			}
			if err := api.Isolate(t.Context(), "a", "u1", "", "f1", true); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			want := held(node("", ours, "true"), "true")
			if c.others > 0 {
				want = held(node("", foreign+","+ours, "true"), "true")
			}
			if c.want != nil {
				want = node("", foreign, "")
			}
			if d := cmp.Diff(want, api.text(nodePath)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMarksAreBoundToTheNodeThatWasRead(t *testing.T) {
	api := newFakeAPI(t)
	api.set(nodePath, node("", "", ""))
	if err := api.Isolate(t.Context(), "a", "u1", "", "f1", true); err != nil {
		t.Fatal(err)
	}
	want := []request{{
		Method: http.MethodPatch, Path: nodePath, Query: map[string][]string{"fieldManager": {"nodefence"}, "timeout": {"10s"}},
		Type: "application/merge-patch+json",
		Body: `{"metadata":{"annotations":{"cluster-autoscaler.kubernetes.io/scale-down-disabled":"true"},"resourceVersion":"1","uid":"u1"},"spec":{"taints":[{"key":"nodefence.io/isolated","value":"f1","effect":"NoSchedule"}],"unschedulable":true}}`,
	}}
	if d := cmp.Diff(want, api.writes()); d != "" {
		t.Error(d)
	}
}

// TestWhatIsPlacedLateFails: an invocation that looked and then stood still places nothing on a
// node that was cleared meanwhile, whether the taint was there or not (S23).
func TestWhatIsPlacedLateFails(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct{ before, cleared string }{
		"the taint was there":     {node("", outOf+","+foreign, ""), node("", foreign, "")},
		"nothing but the taint":   {node("", outOf, ""), node("", "", "")},
		"the taint was not there": {node("", foreign, ""), node("", foreign, "")},
		"another's words for it":  {node("", theirOut+","+foreign, ""), node("", theirOut+","+foreign, "")},
		"no taint at all":         {node("", "", ""), node("", "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, c.before)
			looked, err := api.Node(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			if err := api.ClearOutOfService(ctx, "a", "u1", nodeshutdown); err != nil {
				t.Fatal(err)
			}
			left := api.text(nodePath)
			if d := cmp.Diff(c.cleared, left); d != "" {
				t.Errorf("cleared:\n%s", d)
			}
			for what, place := range map[string]func() error{
				"the out-of-service taint": func() error { return api.PlaceOutOfService(ctx, "a", "u1", looked.ResourceVersion, "f1", nodeshutdown) },
				"the isolation":            func() error { return api.Isolate(ctx, "a", "u1", looked.ResourceVersion, "f1", true) },
			} {
				if err := place(); !errors.Is(err, ErrConflict) {
					t.Errorf("%s was placed late: %v", what, err)
				}
			}
			if d := cmp.Diff(left, api.text(nodePath)); d != "" {
				t.Error(d)
			}
		})
	}
}
