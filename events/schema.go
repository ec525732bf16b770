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
	required, optional := carries(typ)
	body := reflect.TypeFor[Payload]()
	if typ == RequestFence {
		body = reflect.TypeFor[Request]()
	}
	props := map[string]any{}
	for i := range body.NumField() {
		name, _, _ := strings.Cut(body.Field(i).Tag.Get("json"), ",")
		if slices.Contains(required, name) || slices.Contains(optional, name) {
			props[name] = property(name, body.Field(i).Type)
		}
	}
	s := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SchemaID(typ), "title": typ,
		"type": "object", "properties": props, "additionalProperties": true,
	}
	if len(required) > 0 {
		s["required"] = required
	}
	// A map of plain values always encodes.
	b, _ := json.MarshalIndent(s, "", "  ")
	return append(b, '\n')
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
	case slices.Contains([]string{"since", "due", "first", "last"}, name):
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
	case RequestFence: // the subject may name the node
		return nil, []string{"node", "reason", "token", "drain", "fenceRequest"}
	}
	// phases
	return []string{"node", "fence", "fenceNumber", "phase", "due"}, []string{"nodeUID", "reason", "message"}
}
