package apilint

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestTriggerUnion: a trigger has the member that goes with its type and no other, and so has
// evidence; ID and source tell who asked.
func TestTriggerUnion(t *testing.T) {
	crd := definition(t, "NodeFence")
	whole := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	status := whole.Properties["status"].Properties
	whole.XValidations, whole.Required = nil, nil
	whole.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"trigger": status["decision"].Properties["trigger"], "askedBy": status["decision"].Properties["askedBy"], "evidence": status["evidence"],
	}
	s := serve(t, crd)
	const at = `"2026-11-22T15:08:40.000000Z"`
	members := map[string]string{
		"NodeCondition":  "nodeCondition: {type: Ready, status: Unknown, duration: 0s}",
		"LeaseStill":     "leaseStill: {duration: 12s}",
		"NodeMissing":    "nodeMissing: {duration: 10m}",
		"StartupTimeout": "startupTimeout: {duration: 1h}",
		"Machine":        "machine: {namespace: m, name: x, uid: u, state: Failed}",
		"Problem":        "",
		"Request":        "",
	}
	trigger := func(members ...string) string {
		return "trigger: {since: " + at + ", " + strings.Join(slices.DeleteFunc(members, func(m string) bool { return m == "" }), ", ") + "}"
	}
	evidence := func(e string) string { return "evidence: [{mark: " + at + ", since: " + at + ", " + e + "}]" }
	const asked = "{id: a, source: /s, type: t, joinedAt: " + at + "}"
	const ofCondition, ofMachine = "evidence[].condition and evidence[].status go with evidence[].type NodeCondition", "evidence[].machineState goes with evidence[].type Machine"
	rows := map[string]string{ // what is written, and what the API server says
		trigger("type: Storm"): "Unsupported value",
		trigger("type: Machine", "machine: {name: x, uid: u, state: Lost}"):                            "Unsupported value",
		trigger("type: NodeCondition", `nodeCondition: {type: Machine, status: "True", duration: 0s}`): "",
		trigger("type: NodeCondition", "nodeCondition: {type: Machine, status: Failed, duration: 0s}"): "Unsupported value",
		"askedBy: [" + asked + "]":                                         "",
		"askedBy: [" + asked + ", " + asked + "]":                          "Duplicate value",
		evidence("type: NodeCondition, condition: Ready, status: Unknown"): "",
		evidence("type: NodeCondition, condition: Ready"):                  ofCondition,
		evidence("type: NodeMissing, condition: Ready, status: Unknown"):   ofCondition,
		evidence("type: Machine, machineState: NoNode"):                    "",
		evidence("type: Machine"):                                          ofMachine,
		evidence("type: StartupTimeout, machineState: NoNode"):             ofMachine,
	}
	says := func(member, typ string) string {
		name, _, _ := strings.Cut(member, ":")
		return "trigger." + name + " goes with trigger.type " + typ
	}
	for typ, own := range members {
		rows[trigger("type: "+typ, own)] = ""
		if own != "" {
			rows[trigger("type: "+typ)] = says(own, typ)
		}
		for of, other := range members {
			if of != typ && other != "" {
				rows[trigger("type: "+typ, own, other)] = says(other, of)
			}
		}
	}
	for text, says := range rows {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if said := s.take(object, nil); (said == "") != (says == "") || !strings.Contains(said, says) {
			t.Errorf("%s\nthe API server says %q, want %q", text, said, says)
		}
	}
}
