package look_test

import (
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

// TestABootIDThatNodesShareIsSeen: the Nodes are listed where that decides whether a power cut is refuted, and nowhere else.
func TestABootIDThatNodesShareIsSeen(t *testing.T) {
	const nodes = "/api/v1/nodes"
	for name, c := range map[string]struct {
		listed string
		boot   string
		want   bool
	}{
		"another node has it":  {`{"items":[{"metadata":{"name":"a"},"status":{"nodeInfo":{"bootID":"x"}}},{"metadata":{"name":"b"},"status":{"nodeInfo":{"bootID":"x"}}}]}`, "x", true},
		"no other node has it": {`{"items":[{"metadata":{"name":"a"},"status":{"nodeInfo":{"bootID":"x"}}},{"metadata":{"name":"b"},"status":{"nodeInfo":{"bootID":"y"}}}]}`, "x", false},
		"nobody asks":          {"", "z", false},
	} {
		s := &served{objects: map[string]string{}}
		if c.listed != "" {
			s.objects[nodes] = c.listed
		}
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
		f.Status = api.NodeFenceStatus{FenceNumber: 1, Phase: api.Recovering, ProvenCut: &api.ProvenCut{NodeUID: "u", BootID: "x", Heartbeat: "h0"}}
		seen := observed.Look{Node: observed.Node{Exists: true, UID: "u", BootID: c.boot, Heartbeat: "h1", Conditions: []observed.Condition{{Type: "Ready", Status: "True"}}}}
		if err := look.SharedBoot(t.Context(), s.client(t), f, &seen); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if seen.Node.BootIDShared != c.want {
			t.Errorf("%s: shared %v", name, seen.Node.BootIDShared)
		}
	}
}
