package aws

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Template is template.yaml.
//
//go:embed template.yaml
var Template []byte

// Stack is a template with its short tags spelled out: !Ref x is {"Ref": "x"}.
type Stack struct {
	Globals    struct{ Function map[string]any }
	Parameters map[string]any
	Asserted   map[string]Assertions `json:"Rules"`
	Conditions map[string]any
	Resources  map[string]Resource
}

// Resource is one resource of a template.
type Resource struct {
	Type       string
	Condition  string
	Properties map[string]any
}

// Parse reads a template.
func Parse(text []byte) (*Stack, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	plain, err := spellOut(&root)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	// JSON gives each value its type and each struct its fields.
	raw, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	var s Stack
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return &s, nil
}

// spellOut returns a node's value, with CloudFormation's short tags replaced by the
// functions that they stand for.
func spellOut(n *yaml.Node) (any, error) {
	value, err := contents(n)
	if err != nil || len(n.Tag) < 2 || n.Tag[0] != '!' || n.Tag[1] == '!' {
		return value, err
	}
	name := n.Tag[1:]
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return map[string]any{name: value}, nil
}

func contents(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return spellOut(n.Content[0])
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := spellOut(c)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := out[key]; twice {
				return nil, fmt.Errorf("line %d: %s is given twice", n.Content[i].Line, key)
			}
			v, err := spellOut(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	case yaml.ScalarNode:
		if n.Tag[0] == '!' && len(n.Tag) > 1 && n.Tag[1] != '!' {
			return n.Value, nil
		}
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return v, nil
	}
	return nil, fmt.Errorf("line %d: CloudFormation takes no aliases", n.Line)
}

// Rule sends the events that match it, or the ticks of a clock, to one function.
type Rule struct {
	// Function is the function's name, as NODEFENCE_FUNCTION.
	Function string
	// Pattern is EventBridge's: fields of the envelope, and what they may be.
	Pattern Pattern
	// Schedule is set where a clock invokes the function.
	Schedule string
}

// Rules returns the rules of all functions, ordered by name.
func (s *Stack) Rules() ([]Rule, error) {
	var all []Rule
	for _, id := range slices.Sorted(maps.Keys(s.Resources)) {
		r := s.Resources[id]
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		found, err := rules(r)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", id, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// eventSource is SAM's type of that name, as far as the template uses it.
type eventSource struct {
	Type       string
	Properties struct {
		Pattern  Pattern
		Schedule string
	}
}

func rules(r Resource) ([]Rule, error) {
	var p struct {
		Environment struct{ Variables map[string]any }
		Events      map[string]eventSource
	}
	raw, err := json.Marshal(map[string]any{"Environment": r.Properties["Environment"], "Events": r.Properties["Events"]})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	var all []Rule
	for _, name := range slices.Sorted(maps.Keys(p.Events)) {
		e := p.Events[name]
		function, _ := p.Environment.Variables["NODEFENCE_FUNCTION"].(string)
		all = append(all, Rule{function, e.Properties.Pattern, e.Properties.Schedule})
	}
	return all, nil
}
