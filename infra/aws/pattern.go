package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Pattern is an EventBridge pattern, as far as the template uses patterns: an event matches
// if each named field has a value that one of its matchers accepts.
type Pattern struct {
	Source     []Matcher `json:"source,omitempty"`
	DetailType []Matcher `json:"detail-type,omitempty"`
	Detail     *Detail   `json:"detail,omitempty"`
}

// Detail is the event inside the envelope.
type Detail struct {
	Type []Matcher `json:"type,omitempty"`
}

// UnmarshalJSON refuses a pattern with fields that Matches would ignore.
func (p *Pattern) UnmarshalJSON(raw []byte) error {
	type plain Pattern
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(p)); err != nil {
		return fmt.Errorf("a pattern that is not understood here: %w", err)
	}
	return nil
}

// Matcher accepts values: exactly this value, values with this prefix, any but these
// values, or only a missing value.
type Matcher struct {
	Exact       string   `json:"-"`
	Prefix      string   `json:"prefix,omitempty"`
	AnythingBut []string `json:"anything-but,omitempty"`
	Exists      *bool    `json:"exists,omitempty"`
}

// UnmarshalJSON reads EventBridge's two forms: a text, and an object with one key.
func (m *Matcher) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &m.Exact) == nil {
		return nil
	}
	type plain Matcher
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(m)); err != nil {
		return err
	}
	if m.Exists != nil && *m.Exists {
		return fmt.Errorf("exists: true is not understood here")
	}
	return nil
}

func (m Matcher) takes(value string, given bool) bool {
	switch {
	case m.Exists != nil:
		return !given
	case !given:
		return false
	case m.Prefix != "":
		return strings.HasPrefix(value, m.Prefix)
	case m.AnythingBut != nil:
		return !slices.Contains(m.AnythingBut, value)
	}
	return value == m.Exact
}

// Matches reports whether an event with this envelope and detail goes to the function.
func (r Rule) Matches(source, detailType string, detail []byte) bool {
	p := r.Pattern
	if p.Source == nil && p.DetailType == nil && p.Detail == nil {
		return false
	}
	ok := one(p.Source, source, true) && one(p.DetailType, detailType, true)
	if p.Detail == nil {
		return ok
	}
	var inside struct {
		Type *string `json:"type"`
	}
	if json.Unmarshal(detail, &inside) != nil || inside.Type == nil {
		return ok && one(p.Detail.Type, "", false)
	}
	return ok && one(p.Detail.Type, *inside.Type, true)
}

// one reports whether any matcher accepts the value. A field that the pattern does not name
// accepts every value.
func one(all []Matcher, value string, given bool) bool {
	return all == nil || slices.ContainsFunc(all, func(m Matcher) bool { return m.takes(value, given) })
}
