package admission

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestEachSettingIsCompared: table asks has each setting, or asksNoMore says why not. A setting that neither has would
// let a fence go on under a policy that asks for more by now (S17).
func TestEachSettingIsCompared(t *testing.T) {
	known := map[string]bool{}
	for _, a := range asks {
		known[a.field] = true
	}
	for field := range asksNoMore {
		if known[field] {
			t.Errorf("%s is in both tables", field)
		}
		known[field] = true
	}
	all := settingsIn("", reflect.TypeFor[api.Settings](), known)
	for field, is := range all {
		if !is {
			t.Errorf("neither asks nor asksNoMore has settings.%s", field)
		}
	}
	for field := range known {
		if !all[field] {
			t.Errorf("there is no settings.%s", field)
		}
	}
}

// settingsIn returns the fields of a type by their names in JSON, and whether each is known. A known field stands for
// all fields within.
func settingsIn(at string, is reflect.Type, known map[string]bool) map[string]bool {
	all := map[string]bool{}
	for i := range is.NumField() {
		name, _, _ := strings.Cut(is.Field(i).Tag.Get("json"), ",")
		name, inner := strings.TrimPrefix(at+"."+name, "."), is.Field(i).Type
		if known[name] || inner.Kind() != reflect.Struct || inner == reflect.TypeFor[metav1.Duration]() {
			all[name] = known[name]
			continue
		}
		for field, is := range settingsIn(name, inner, known) {
			all[field] = is
		}
	}
	return all
}
