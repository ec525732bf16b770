package events

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Schema is the JSON Schema (2020-12) of a type's data. It is made from Payload,
// so that the two can't differ; what a type must carry is listed in required.
func Schema(typ string) []byte {
	props := map[string]any{}
	t := reflect.TypeFor[Payload]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		p := map[string]any{"type": "string"}
		if t.Field(i).Type.Kind() == reflect.Int64 {
			p = map[string]any{"type": "integer", "minimum": 1}
		}
		if slices.Contains([]string{"since", "due", "first", "last"}, name) {
			p["format"] = "date-time"
		}
		props[name] = p
	}
	s := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SchemaID(typ), "title": typ,
		"type": "object", "properties": props, "required": required(typ), "additionalProperties": false,
	}
	// A map of plain values always encodes.
	b, _ := json.MarshalIndent(s, "", "  ")
	return append(b, '\n')
}

func required(typ string) []string {
	switch typ {
	case NodeUnhealthy: // of a Node object that is missing there is no UID
		return []string{"node", "condition", "status", "since"}
	case NodeHealthy:
		return []string{"node", "nodeUID", "condition", "status", "since"}
	case NodeMarked:
		return []string{"node", "nodeUID", "fence"}
	case NodeCheck, NodeCheckIsolation:
		return []string{"node", "nodeUID", "due"}
	case NodeSuspect:
		return []string{"node", "nodeUID", "since"}
	case NodeDumping:
		return []string{"node", "nodeUID", "reason", "message", "component", "count", "first", "last"}
	case NodeProblem, PodsFailing:
		return []string{"node", "nodeUID", "reason", "component", "count", "first", "last"}
	}
	return []string{"node", "nodeUID", "fence", "generation", "phase", "due"}
}
