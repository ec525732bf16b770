package crd_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDescriptionsSayWhatIsThere: kubectl explain shows neither a default nor a bound that
// a description does not say.
func TestDescriptionsSayWhatIsThere(t *testing.T) {
	files, err := filepath.Glob("nodefence.io_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v, %v", files, err)
	}
	for _, file := range files {
		root := schemaOf(t, strings.TrimSuffix(strings.TrimPrefix(file, "nodefence.io_"), ".yaml"))
		for part, s := range root.Properties {
			if part != "spec" && part != "status" {
				continue
			}
			described(root.kind+"."+part, s, func(at, name string, p schema) {
				for _, wrong := range unsaid(name, p, part == "spec") {
					t.Errorf("%s: %s: %s", at, wrong, meaning(p))
				}
			})
		}
	}
}

// TestUnsaidIsSeen: what the test above is there for is found.
func TestUnsaidIsSeen(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for text, want := range map[string]string{
		"count is how many fences may begin, from 1 to 12; 3 by default.":                                            "",
		"count is how many fences may begin, from 1 to 12.":                                                          "does not say that its default is 3",
		"count is how many fences may begin; 3 by default, 1 or more.":                                               "does not say 12",
		"it is how many fences may begin, from 1 to 12; 3 by default.":                                               "does not begin with its name",
		"count is how many, 1 to 12, by default 3: see the policy's, or its default: see count of FencePolicy.spec.": "only refers to another field",
		"count is how many.": "says nothing, does not say that its default is 3, does not say 1, does not say 12",
	} {
		got := strings.Join(unsaid("count", schema{Type: "integer", Minimum: n(1), Maximum: n(12), Default: 3, Description: text}, true), ", ")
		if got != want {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
	}
}

// described calls do for each field below this one.
func described(at string, s schema, do func(at, name string, p schema)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		do(at+"."+name, name, p)
		described(at+"."+name, p, do)
	}
	if s.Items != nil {
		described(at+"[]", *s.Items, do)
	}
	if s.AdditionalProperties != nil {
		described(at+"{}", *s.AdditionalProperties, do)
	}
}

// unsaid is what a field's description lacks: in a spec, its default and bounds too. The
// least length of a text and the lengths of a list's texts are in the reference alone.
func unsaid(name string, p schema, inSpec bool) (wrong []string) {
	words := strings.Fields(p.Description)
	if len(words) == 0 || words[0] != name {
		wrong = append(wrong, "does not begin with its name")
	}
	if len(words) < 6 {
		wrong = append(wrong, "says nothing")
	}
	if strings.Contains(p.Description, "or its default: see") {
		wrong = append(wrong, "only refers to another field")
	}
	if !inSpec {
		return wrong
	}
	switch v := p.Default.(type) {
	case nil, map[string]any, []any: // of others' fields; or in words
	default:
		if text := fmt.Sprint(v); text != "" && !saysDefault(p, text) {
			wrong = append(wrong, "does not say that its default is "+text)
		}
	}
	bounds := []*int64{p.Minimum, p.Maximum, p.MaxItems, p.MaxProperties}
	if atLeastTwo := p.MinItems != nil && *p.MinItems > 1; atLeastTwo {
		bounds = append(bounds, p.MinItems)
	}
	if p.Type == "string" && len(p.XValidations) == 0 && p.Format == "" && p.Pattern == "" {
		bounds = append(bounds, p.MaxLength)
	}
	for _, b := range bounds {
		if b != nil && !says(p, fmt.Sprint(*b)) {
			wrong = append(wrong, fmt.Sprint("does not say ", *b))
		}
	}
	for _, rule := range p.XValidations {
		for _, b := range between.FindStringSubmatch(rule.Message) {
			if !strings.Contains(b, " ") && !says(p, b) {
				wrong = append(wrong, "does not say "+b)
			}
		}
	}
	return wrong
}

// between finds the bounds in the message of a rule.
var between = regexp.MustCompile(`must be (?:a number of nodes from|between) (\w+) (?:and|to) (\w+)`)

// says tells whether a description has a word.
func says(p schema, word string) bool {
	return matches(p, `(^|[^\w.])`+regexp.QuoteMeta(word)+`($|\W)`)
}

// saysDefault tells whether it says that a word is the default.
func saysDefault(p schema, word string) bool {
	word = regexp.QuoteMeta(word)
	return matches(p, `(^|[^\w.])`+word+`( by default| unless set|, (which is )?the default)\b`) || matches(p, `(Default:|[Bb]y default|[Uu]nless set[:,]) `+word+`($|\W)`)
}

func matches(p schema, pattern string) bool {
	return regexp.MustCompile(pattern).MatchString(strings.Join(strings.Fields(p.Description), " "))
}
