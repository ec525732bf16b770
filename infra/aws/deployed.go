package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// With is the stack as it is deployed with these parameters and the defaults of the others: without
// the resources whose condition does not hold, and with a parameter's value in each environment that
// refers to it. A parameter that the template lacks, a value that it or its Rules do not allow, and a
// condition that is not understood here are errors.
func (s *Stack) With(parameters map[string]string) (*Stack, error) {
	d := deployment{conditions: s.Conditions, parameters: map[string]string{}}
	for name := range parameters {
		if _, is := s.Parameters[name]; !is {
			return nil, fmt.Errorf("the template has no parameter %s", name)
		}
	}
	for name, p := range s.Parameters {
		var err error
		if d.parameters[name], err = chosen(p, parameters, name); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	if err := s.asserted(d); err != nil {
		return nil, err
	}
	out := *s
	out.Resources = map[string]Resource{}
	out.Globals.Function, _ = d.value(s.Globals.Function).(map[string]any)
	for id, r := range s.Resources {
		if r.Condition != "" {
			is, understood := d.value(map[string]any{"Condition": r.Condition}).(bool)
			if !understood {
				return nil, fmt.Errorf("%s: condition %s is not understood here", id, r.Condition)
			}
			if !is {
				continue
			}
		}
		if env, ok := r.Properties["Environment"]; ok {
			r.Properties = maps.Clone(r.Properties)
			r.Properties["Environment"] = d.value(env)
		}
		out.Resources[id] = r
	}
	return &out, nil
}

// chosen is a parameter's value: the given one, or its default.
func chosen(parameter any, given map[string]string, name string) (string, error) {
	var p struct {
		Type, AllowedPattern string
		Default              any
		AllowedValues        []any
	}
	raw, err := json.Marshal(parameter)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return "", err
	}
	value, is := given[name]
	switch {
	case !is && p.Default == nil:
		return "", nil
	case !is:
		return fmt.Sprint(p.Default), nil
	case p.AllowedValues != nil && !slices.ContainsFunc(p.AllowedValues, func(v any) bool { return fmt.Sprint(v) == value }):
		return "", fmt.Errorf("%q is none of %q", value, p.AllowedValues)
	}
	return value, allowed(p.AllowedPattern, p.Type, value)
}

// deployment is what CloudFormation's functions are computed from.
type deployment struct {
	conditions map[string]any
	parameters map[string]string
}

// value replaces the functions that can be computed here. The others stay as they are.
func (d deployment) value(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = d.value(x)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = d.value(x)
			if is, ok := d.computed(k, out[k]); ok && len(v) == 1 {
				return is
			}
		}
		return out
	}
	return v
}

func (d deployment) computed(function string, operand any) (any, bool) {
	name, _ := operand.(string)
	list, _ := operand.([]any)
	switch {
	case function == "Ref":
		value, is := d.parameters[name]
		return value, is
	case function == "Condition":
		condition, is := d.conditions[name]
		return d.value(condition), is
	case function == "Fn::If" && len(list) == 3:
		is, understood := d.value(map[string]any{"Condition": list[0]}).(bool)
		if is {
			return list[1], understood
		}
		return list[2], understood
	case function == "Fn::Equals" && len(list) == 2:
		return fmt.Sprint(list[0]) == fmt.Sprint(list[1]), true
	case function == "Fn::Not" && len(list) == 1:
		return list[0] == false, true
	case function == "Fn::Or":
		return slices.Contains(list, any(true)), true
	case function == "Fn::Contains" && len(list) == 2:
		return slices.Contains(members(list[0]), fmt.Sprint(list[1])), true
	case function == "Fn::EachMemberEquals" && len(list) == 2:
		return !slices.ContainsFunc(members(list[0]), func(m string) bool { return m != fmt.Sprint(list[1]) }), true
	case function == "Fn::EachMemberIn" && len(list) == 2:
		in := members(list[1])
		return !slices.ContainsFunc(members(list[0]), func(m string) bool { return !slices.Contains(in, m) }), true
	case function == "Fn::Join" && len(list) == 2: // of a list that a parameter writes with commas
		return strings.ReplaceAll(fmt.Sprint(list[1]), ",", fmt.Sprint(list[0])), true
	}
	return nil, false
}
