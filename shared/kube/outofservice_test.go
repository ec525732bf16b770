package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const saysSo = `"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:nodefence.io/out-of-service-by":{}}}},"manager":"nodefence","operation":"Update"}],`

// TestTheOutOfServiceTaintOfALostRecord: without the record only the annotation tells whose the taint
// is. It counts if nodefence wrote it, and for its own fence (S22).
func TestTheOutOfServiceTaintOfALostRecord(t *testing.T) {
	ofAnother := strings.NewReplacer(`"f1"`, `"f2"`)
	for name, c := range map[string]struct{ before, want string }{
		"nodefence's":                           {placed(node(saysSo, foreign+","+outOf, "")), node(saysSo, foreign, "")},
		"nodefence's, for good":                 {placed(node(saysSo, strings.Replace(outOf, "nodeshutdown", "hardwarefailure", 1), "")), node(saysSo, "", "")},
		"a person's":                            {node("", foreign+","+outOf, ""), node("", foreign+","+outOf, "")},
		"a person's, after nodefence's was":     {node(saysSo, outOf, ""), node(saysSo, outOf, "")},
		"an annotation that somebody wrote":     {placed(node("", outOf, "")), placed(node("", outOf, ""))},
		"another fence's":                       {ofAnother.Replace(placed(node(saysSo, outOf, ""))), ofAnother.Replace(placed(node(saysSo, outOf, "")))},
		"another's words under our annotation":  {placed(node(saysSo, theirOut, "")), node(saysSo, theirOut, "")},
		"a taint that somebody has taken off":   {placed(node(saysSo, foreign, "")), node(saysSo, foreign, "")},
		"that of another node of the same name": {strings.Replace(placed(node(saysSo, outOf, "")), "u1", "u2", 1), strings.Replace(placed(node(saysSo, outOf, "")), "u1", "u2", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, c.before)
			for range 2 { // once more changes nothing
				if err := api.RemoveOutOfService(t.Context(), "a", "u1", "", "f1"); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(c.want, api.text(nodePath)); d != "" {
				t.Error(d)
			}
			if most := len(api.writes()); most > 1 {
				t.Errorf("%d writes", most)
			}
		})
	}
}

// TestTheAnnotationGoesWithTheTaint: both are placed in one write and removed in one, so that a process
// that dies leaves both or neither. What somebody else did to the taint leaves no annotation either.
func TestTheAnnotationGoesWithTheTaint(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile, want string
		writes          int
	}{
		"nothing happens meanwhile":     {"", node("", foreign, ""), 2},
		"a person takes the taint off":  {placed(node("", foreign, "")), node("", foreign, ""), 3},
		"a person says it in own words": {placed(node("", foreign+","+theirOut, "")), node("", foreign+","+theirOut, ""), 3},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.set(nodePath, node("", foreign, ""))
			if err := api.PlaceOutOfService(t.Context(), "a", "u1", "", "f1", nodeshutdown); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(placed(node("", foreign+","+outOf, "")), api.text(nodePath)); d != "" {
				t.Errorf("placed: %s", d)
			}
			if c.meanwhile != "" {
				api.set(nodePath, c.meanwhile)
			}
			if err := api.client().ClearOutOfService(t.Context(), "a", "u1", nodeshutdown); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, api.text(nodePath)); d != "" {
				t.Errorf("cleared: %s", d)
			}
			if got := len(api.writes()); got != c.writes {
				t.Errorf("%d writes, want %d", got, c.writes)
			}
		})
	}
}
