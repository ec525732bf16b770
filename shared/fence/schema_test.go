package fence

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// bounds are what a schema says of sizes.
type bounds struct {
	Properties           map[string]bounds `json:"properties"`
	Items                *bounds           `json:"items"`
	AdditionalProperties *bounds           `json:"additionalProperties"`
	MaxLength            *int              `json:"maxLength"`
	MaxItems             *int              `json:"maxItems"`
	MaxProperties        *int              `json:"maxProperties"`
}

// tooBig names what of a record's status its schema does not take: the API server would
// refuse the whole write, and nothing of what happened would be written down.
func tooBig(t *testing.T, st *api.NodeFenceStatus) (wrong []string) {
	t.Helper()
	raw, err := os.ReadFile("../../infra/crd/nodefence.io_nodefences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema bounds `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	var look func(at string, b bounds, v any)
	over := func(at string, n int, most *int) {
		if most != nil && n > *most {
			wrong = append(wrong, fmt.Sprintf("%s has %d of %d", at, n, *most))
		}
	}
	look = func(at string, b bounds, v any) {
		switch v := v.(type) {
		case string:
			over(at, len([]rune(v)), b.MaxLength)
		case []any:
			over(at, len(v), b.MaxItems)
			for i := range v {
				look(fmt.Sprintf("%s[%d]", at, i), *b.Items, v[i])
			}
		case map[string]any:
			over(at, len(v), b.MaxProperties)
			for k := range v {
				if p, there := b.Properties[k]; there {
					look(at+"."+k, p, v[k])
				} else if b.AdditionalProperties != nil {
					look(at+"."+k, *b.AdditionalProperties, v[k])
				}
			}
		}
	}
	look("status", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"], value)
	return wrong
}

// TestAProofByEveryDeviceFits: a node may have four devices that cut it off from storage,
// each of which is seen twice. A proof that its schema does not take could never be saved,
// and the work would stay where it is for ever.
func TestAProofByEveryDeviceFits(t *testing.T) {
	spec := walkSpec()
	spec.Decision.Devices = nil
	var all []api.Binding
	for i := range 4 {
		all = append(all, api.Binding{Driver: "san", Address: fmt.Sprint(i), Role: api.RoleStorage, Must: true, Covers: &api.Coverage{CSIDriverNames: []string{"d"}}})
	}
	cutting(&spec.Decision, all...)
	at := stampOf(walkStart)
	st := spec.in(api.NodeFenceStatus{Phase: api.Fencing, FenceNumber: 1, BootIDBefore: "a"})
	for i := range spec.Decision.Devices {
		r := api.RecordOf(&spec.Decision.Devices[i])
		off := api.Read{State: api.PoweredOff, At: at, Identity: strings.Repeat("i", longestMessage)}
		r.FirstCut, r.LastRead = &off, &off
		st.Isolation = append(st.Isolation, r)
	}
	d := CoreOf(&st.Decision, st, Seen{}, walkStart.Add(time.Second))
	d.ProvenByCut()
	if n := len(d.Status().Proof.Reads); n != 8 {
		t.Errorf("%d reads prove it", n)
	}
	for _, w := range tooBig(t, d.Status()) {
		t.Error(w)
	}
}

// TestAVolumeWithALongNameIsNotKept: what is not named in the record is not seen to be out
// of use, and only a reboot shows it (S2).
func TestAVolumeWithALongNameIsNotKept(t *testing.T) {
	for n, only := range map[int]bool{longestVolume: false, longestVolume + 1: true} {
		spec := cutSpec()
		st := spec.in(api.NodeFenceStatus{Phase: api.Releasing, FenceNumber: 1, Proof: &api.Proof{Type: api.ProofStorageCut, BootIDBefore: "a"}})
		d := CoreOf(&st.Decision, st, Seen{Left: &Left{Volumes: []string{"a", strings.Repeat("v", n)}}}, walkStart)
		d.NoteRelease(Release)
		if r := d.Status().Release; r.RebootOnly != only || (len(r.Volumes) == 2) == only {
			t.Errorf("%d letters: only a reboot shows it: %v, %d volumes are kept", n, r.RebootOnly, len(r.Volumes))
		}
		for _, w := range tooBig(t, d.Status()) {
			t.Error(w)
		}
	}
}

// TestMorePoliciesThanARecordTakes: one that is left out might be the one that holds. So
// nothing begins, in words, and the record can be saved (S14, S28).
func TestMorePoliciesThanARecordTakes(t *testing.T) {
	for n, holds := range map[int]bool{maxPolicies: false, maxPolicies + 1: true, 200: true} {
		var all []api.FencePolicy
		for i := range n {
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: api.FencePolicySpec{Selector: everyNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
			p.Spec.Precedence = new(int32(i))
			all = append(all, p)
		}
		r, ok := ResolvePolicy(all, "n1", nil)
		if !ok || (r.Settings.Excluded != "") != holds || r.Policy.Name != "p0" {
			t.Errorf("%d policies: %q by %s", n, r.Settings.Excluded, r.Policy.Name)
		}
		for _, w := range tooBig(t, &api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: r}}) {
			t.Errorf("%d policies: %s", n, w)
		}
	}
}

// TestMorePoliciesThanARecordTakesOfANodeThatIsMissing: those that expect it and those that
// would select it count together.
func TestMorePoliciesThanARecordTakesOfANodeThatIsMissing(t *testing.T) {
	since := stampOf(walkStart.Add(-time.Hour))
	for _, c := range []struct {
		expect, others int
		holds          bool
	}{{1, maxPolicies - 1, false}, {1, maxPolicies, true}, {1, 200, true}, {5, maxPolicies, true}, {maxPolicies + 1, 0, true}} {
		var all []api.FencePolicy
		for i := range c.expect + c.others {
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}, Spec: api.FencePolicySpec{Selector: everyNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
			if p.Spec.Precedence = new(int32(i)); i < c.expect {
				p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
				p.Spec.MissingNodes, p.Status.Missing = &api.MissingNodesRule{NodeNames: []string{"gone"}}, []api.MissingNode{{NodeName: "gone", Since: since}}
			}
			all = append(all, p)
		}
		r, _, ok := ResolveMissing(all, "gone", walkStart)
		if !ok || (r.Settings.Excluded != "") != c.holds || r.Policy.Name != "p0" || !c.holds && len(r.Limits) != c.expect+c.others {
			t.Errorf("%+v: %t %q by %s, %d limits", c, ok, r.Settings.Excluded, r.Policy.Name, len(r.Limits))
		}
		for _, w := range tooBig(t, &api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: r}}) {
			t.Errorf("%+v: %s", c, w)
		}
	}
}
