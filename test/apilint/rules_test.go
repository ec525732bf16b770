package apilint

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/nodefence/nodefence/test/apitable"
)

// rulesAreSeen: each rule of a kind has a row that it refuses, which says how its message begins,
// and one that it takes. A status is written by nodefence alone: its rules are tested with the
// programs that write it.
func rulesAreSeen(t *testing.T, rows apitable.Table, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	rules(schema, nil, func(at []string, says string) {
		if strings.HasPrefix(strings.Join(append(slices.Clone(at), says), "."), "status.") {
			return
		}
		refused, taken := false, false
		for _, r := range rows.Rows {
			refused = refused || r.Says != "" && strings.HasPrefix(says, r.Says)
			taken = taken || r.Says == "" && reaches(read(t, rows.Object(r, r.Spec)), at)
		}
		where := rows.Kind + "." + strings.Join(at, ".")
		if !refused {
			t.Errorf("no row of test/e2e/testdata/api is refused by the rule of %s: %s", where, says)
		}
		if !taken {
			t.Errorf("no row of test/e2e/testdata/api has a %s that is taken", where)
		}
	})
}

// rules calls do for each rule, with the field that it is at.
func rules(s apiextensionsv1.JSONSchemaProps, at []string, do func(at []string, says string)) {
	for _, r := range s.XValidations {
		do(at, r.Message)
	}
	if s.Items != nil {
		rules(*s.Items.Schema, append(slices.Clone(at), "[]"), do)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		rules(*s.AdditionalProperties.Schema, append(slices.Clone(at), "{}"), do)
	}
	for name, p := range s.Properties {
		rules(p, append(slices.Clone(at), name), do)
	}
}

// reaches says whether an object has a field.
func reaches(v any, at []string) bool {
	if len(at) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, in := range v {
			if (at[0] == name || at[0] == "{}") && reaches(in, at[1:]) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if at[0] == "[]" && reaches(x, at[1:]) {
				return true
			}
		}
	}
	return false
}
