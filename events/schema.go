package events

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Schema is the JSON Schema (2020-12) of a type's data: only the properties that this type
// has. It allows further properties, so that a receiver that validates events accepts those
// of a later release. Names and kinds are taken from the Go types, so that the two can't
// differ.
func Schema(typ string) []byte {
	if typ == FenceReported {
		return encode(typ, objectOf(reflect.TypeFor[api.FenceReportSpec]()))
	}
	required, optional := carries(typ)
	body := reflect.TypeFor[Payload]()
	switch typ {
	case RequestFence:
		body = reflect.TypeFor[Request]()
	case PersonActed:
		body = reflect.TypeFor[Act]()
	}
	props := map[string]any{}
	for i := range body.NumField() {
		name, _, _ := strings.Cut(body.Field(i).Tag.Get("json"), ",")
		if slices.Contains(required, name) || slices.Contains(optional, name) {
			props[name] = property(name, body.Field(i).Type)
		}
	}
	s := map[string]any{"type": "object", "properties": props, "additionalProperties": true}
	if len(required) > 0 {
		s["required"] = required
	}
	return encode(typ, s)
}

func encode(typ string, s map[string]any) []byte {
	s["$schema"], s["$id"], s["title"] = "https://json-schema.org/draft/2020-12/schema", SchemaID(typ), typ
	// A map of plain values always encodes.
	b, _ := json.MarshalIndent(s, "", "  ")
	return append(b, '\n')
}

// optionalInReports are the properties of a report that a fence may lack, by the type that has them.
var optionalInReports = map[reflect.Type][]string{
	reflect.TypeFor[api.FenceReportSpec](): {"nodeUID", "policyName", "policyGeneration", "mode", "action", "why", "askedBy", "requests",
		"admittedAt", "offSentAt", "releasedAt", "healthyAt", "cuts", "proof", "released", "message"},
	reflect.TypeFor[api.ReportAsker]():   {"user", "source", "id", "reason"},
	reflect.TypeFor[api.ReportRequest](): {"reason", "result"},
	reflect.TypeFor[api.ReportProof]():   {"device", "identity", "bootID", "by", "reads"},
	reflect.TypeFor[api.ReportRelease](): {"pods", "podsLeft", "attachmentsLeft", "timedOut", "kept"},
}

// objectOf is the schema of a part of a report.
func objectOf(is reflect.Type) map[string]any {
	props, required := map[string]any{}, []string{}
	for i := range is.NumField() {
		name, _, _ := strings.Cut(is.Field(i).Tag.Get("json"), ",")
		props[name] = valueOf(is.Field(i).Type)
		if !slices.Contains(optionalInReports[is], name) {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": true}
}

// valueOf is the schema of a value of a report.
func valueOf(is reflect.Type) map[string]any {
	switch {
	case is.Kind() == reflect.Pointer:
		return valueOf(is.Elem())
	case is == reflect.TypeFor[api.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case is.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": valueOf(is.Elem())}
	case is.Kind() == reflect.Struct:
		return objectOf(is)
	case is.Kind() == reflect.Int32, is.Kind() == reflect.Int64:
		return map[string]any{"type": "integer", "minimum": 0}
	case is.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{"type": "string"}
}

func property(name string, is reflect.Type) map[string]any {
	switch {
	case is == reflect.TypeFor[*ObjectReference]():
		text := map[string]any{"type": "string"}
		return map[string]any{"type": "object", "properties": map[string]any{"namespace": text, "name": text, "uid": text}, "required": []string{"namespace", "name", "uid"}}
	case name == "drain":
		return map[string]any{"type": "string", "enum": []api.DrainWish{api.DrainIfReady, api.DrainSkip}}
	case is.Kind() == reflect.Int64:
		return map[string]any{"type": "integer", "minimum": 1}
	case is.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case slices.Contains([]string{"since", "due", "first", "last", "at"}, name):
		return map[string]any{"type": "string", "format": "date-time"}
	}
	return map[string]any{"type": "string"}
}

// carries lists the properties that a type's data always has, and those that it may have.
func carries(typ string) (required, optional []string) {
	switch typ {
	case NodeUnhealthy: // a missing Node object has no UID, and like a Machine it has no condition
		return []string{"node", "since"}, []string{"nodeUID", "condition", "status", "reason"}
	case NodeHealthy:
		return []string{"node", "nodeUID", "condition", "status", "since"}, []string{"reason"}
	case NodeMarked:
		return []string{"node", "nodeUID", "fence"}, nil
	case NodeCheck, NodeCheckIsolation:
		return []string{"node", "nodeUID", "due"}, nil
	case NodeSuspect:
		return []string{"node", "nodeUID", "since"}, []string{"reason"}
	case NodeDumping:
		return []string{"node", "nodeUID", "reason", "message", "component", "count", "first", "last"}, nil
	case NodeProblem, PodsFailing:
		return []string{"node", "nodeUID", "reason", "component", "count", "first", "last"}, []string{"pod", "message", "due"}
	case FenceRequestChanged:
		return []string{"node", "namespace", "name", "uid"}, nil
	case PersonActed:
		return []string{"act", "field", "kind", "name", "uid", "at"}, []string{"from", "to", "seen", "madeBefore", "by", "manager", "reason", "fenceNumber"}
	case RequestFence: // the subject may name the node
		return nil, []string{"node", "reason", "token", "drain", "fenceRequest"}
	}
	// phases
	return []string{"node", "fence", "fenceNumber", "phase", "due"}, []string{"nodeUID", "reason", "message"}
}
