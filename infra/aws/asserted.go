package aws

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Assertions are one entry of the template's Rules: what must hold of the parameters where Condition
// does, or always. CloudFormation refuses a deployment of which it does not hold, and changes nothing.
type Assertions struct {
	Condition  any `json:"RuleCondition"`
	Assertions []struct{ Assert, AssertDescription any }
}

// asserted returns what the template's Rules have against the parameters.
func (s *Stack) asserted(d deployment) error {
	var all []error
	for _, id := range slices.Sorted(maps.Keys(s.Asserted)) {
		r := s.Asserted[id]
		if r.Condition != nil {
			is, understood := d.value(r.Condition).(bool)
			if !understood {
				return fmt.Errorf("rule %s: its condition is not understood here", id)
			}
			if !is {
				continue
			}
		}
		for i, a := range r.Assertions {
			is, understood := d.value(a.Assert).(bool)
			switch {
			case !understood:
				return fmt.Errorf("rule %s: assertion %d is not understood here", id, i+1)
			case !is:
				all = append(all, fmt.Errorf("rule %s: %s", id, a.AssertDescription))
			}
		}
	}
	return errors.Join(all...)
}

// allowed tells whether a parameter's AllowedPattern takes a value; of a list it takes each member.
func allowed(pattern, kind, value string) error {
	if pattern == "" {
		return nil
	}
	whole, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return err
	}
	values := []string{value}
	if kind == "CommaDelimitedList" {
		values = members(value)
	}
	for _, v := range values {
		if !whole.MatchString(v) {
			return fmt.Errorf("%q is not like %s", v, pattern)
		}
	}
	return nil
}

// members are those of a list, which a parameter writes with commas.
func members(list any) []string {
	if all, is := list.([]any); is {
		out := make([]string, len(all))
		for i, v := range all {
			out[i] = fmt.Sprint(v)
		}
		return out
	}
	return strings.Split(fmt.Sprint(list), ",")
}
