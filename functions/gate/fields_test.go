package gate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Every field that a person can set changes a decision: for each there is a row
// with two specs that differ in this field alone, and a question to which they
// lead to different answers. The rows are in fieldrows_test.go, the questions in
// fieldworlds_test.go.

// row is one field's: what else the spec has, the field's two values, and the
// question. A list's first entry stands for all.
type row struct {
	with, from, to string
	ask            question
}

// question is what a spec leads to in one world: all of it that a decision can be
// told by.
type question func(t *testing.T, spec []byte) string

func TestEveryFieldChangesADecision(t *testing.T) {
	for kind, c := range map[string]struct {
		spec any
		base string
		rows map[string]row
	}{
		"FencePolicy":       {api.FencePolicySpec{}, basePolicy, policyRows},
		"FenceBudget":       {api.FenceBudgetSpec{}, `{}`, budgetRows},
		"NodeProblemPolicy": {api.NodeProblemPolicySpec{}, `{}`, problemRows},
	} {
		fields := fieldsOf("", reflect.TypeOf(c.spec))
		for _, field := range fields {
			r, ok := c.rows[field]
			if strings.HasPrefix(field, "pauseChanged.") {
				continue // who changed a brake is recorded, and decides nothing
			}
			if !ok {
				t.Errorf("%s.%s: no row shows that it changes a decision", kind, field)
				continue
			}
			t.Run(kind+"."+field, func(t *testing.T) {
				a, b := specWith(t, c.base, r.with, field, r.from), specWith(t, c.base, r.with, field, r.to)
				understood(t, c.spec, a)
				understood(t, c.spec, b)
				was, is := r.ask(t, a), r.ask(t, b)
				if was == is {
					t.Errorf("%q and %q lead to the same: %s", r.from, r.to, was)
				}
				t.Logf("%s: %s\n%s: %s", r.from, was, r.to, is)
			})
		}
		for _, field := range slices.Sorted(maps.Keys(c.rows)) {
			if !slices.Contains(fields, field) {
				t.Errorf("%s has no field %s", kind, field)
			}
		}
	}
}

// fieldsOf are the fields that hold a value of their own, by their names in YAML.
func fieldsOf(at string, typ reflect.Type) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	leaf := typ.Kind() != reflect.Struct
	for _, whole := range []any{metav1.Duration{}, api.LabelSelector{}, intstr.IntOrString{}} {
		leaf = leaf || typ == reflect.TypeOf(whole)
	}
	if leaf {
		return []string{at}
	}
	var all []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name == "" {
			all = append(all, fieldsOf(at, typ.Field(i).Type)...)
			continue
		}
		all = append(all, fieldsOf(strings.TrimPrefix(at+"."+name, "."), typ.Field(i).Type)...)
	}
	return all
}

// specWith lays with over the base and sets one field; an empty value leaves it out.
func specWith(t *testing.T, base, with, field, value string) []byte {
	t.Helper()
	spec := map[string]any{}
	for _, text := range []string{base, with} {
		var m map[string]any
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		spec = merged(spec, m)
	}
	path := strings.Split(field, ".")
	m := spec
	for _, name := range path[:len(path)-1] {
		next := m[name]
		if list, ok := next.([]any); ok {
			next = list[0]
		}
		inner, ok := next.(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[name] = inner
		}
		m = inner
	}
	last := path[len(path)-1]
	if delete(m, last); value != "" {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		m[last] = v
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func merged(a, b map[string]any) map[string]any {
	for k, v := range b {
		x, isA := a[k].(map[string]any)
		y, isB := v.(map[string]any)
		if isA && isB {
			v = merged(x, y)
		}
		a[k] = v
	}
	return a
}

// understood fails for a spec with a field that there is not.
func understood(t *testing.T, kind any, text []byte) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(reflect.New(reflect.TypeOf(kind)).Interface()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestFieldsOf(t *testing.T) {
	type inner struct {
		Time  metav1.Duration `json:"duration"`
		Plain string          `json:"plain,omitempty"`
	}
	type outer struct {
		inner `json:",inline"`
		List  []inner            `json:"list"`
		Names []string           `json:"names"`
		Some  *api.LabelSelector `json:"some"`
	}
	want := "duration plain list.duration list.plain names some"
	if got := strings.Join(fieldsOf("", reflect.TypeOf(outer{})), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
