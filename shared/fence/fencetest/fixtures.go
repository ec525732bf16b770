package fencetest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the machine that tests may have none

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

var (
	// Start is the moment at which a test begins.
	Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	// Renewal is the time between two renewals of a node's Lease.
	Renewal = 4 * time.Second
	// Lead is as long as a settle over a fresh Lease, so that it needs no states of
	// its own.
	Lead = 4800 * time.Millisecond
)

// Number is a count as limits and budgets have it.
func Number(n int) *intstr.IntOrString { v := intstr.FromInt32(int32(n)); return &v }

// Percent is a share as limits and budgets have it, such as 40%.
func Percent(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }

// PerDay allows so many cuts of one node.
func PerDay(n int) *api.PerNode { cuts := int32(n); return &api.PerNode{CutsPerDay: &cuts} }

// Window is a pause window that begins at a time of day, HH:MM, in a zone.
func Window(start string, lasts time.Duration, zone string, days ...api.Weekday) api.PauseWindowRule {
	return api.PauseWindowRule{Start: start, Duration: *api.DurationOf(lasts), TimeZone: &zone, Days: days}
}

// OpenNow is a window that is open while the walk's clock begins.
var OpenNow = []policy.Windows{{Policy: "p", Windows: []api.PauseWindowRule{Window("00:00", time.Hour, "")}}}

// CutsOff: the call that is claimed is to a device of the isolation.
func CutsOff(st *api.NodeFenceStatus) bool {
	if st.Claim == nil {
		return false
	}
	b := st.Decision.Device(st.Claim.Device)
	return b != nil && b.Role != api.RolePower
}

// Cutting are these devices of the isolation in place of a decision's own.
func Cutting(d *api.Decision, cuts ...api.Binding) {
	d.Devices = api.Named(slices.Concat(d.PowerLevels(), cuts)...)
}

// Powered are these levels in place of a decision's own.
func Powered(d *api.Decision, levels ...api.Binding) {
	d.Devices = api.Named(slices.Concat(levels, d.Isolation())...)
}

// ZonesOf are those of a list of names.
func ZonesOf(t *testing.T, names ...string) policy.Zones {
	t.Helper()
	all := policy.Zones{}
	for _, name := range names {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = zone
	}
	return all
}

// bounds are what a schema says of sizes.
type bounds struct {
	Properties           map[string]bounds `json:"properties"`
	Items                *bounds           `json:"items"`
	AdditionalProperties *bounds           `json:"additionalProperties"`
	MaxLength            *int              `json:"maxLength"`
	MaxItems             *int              `json:"maxItems"`
	MaxProperties        *int              `json:"maxProperties"`
}

// TooBig names what of a record's status its schema does not take: the API server would
// refuse the whole write, and nothing of what happened would be written down.
func TooBig(t *testing.T, st *api.NodeFenceStatus) (wrong []string) {
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
