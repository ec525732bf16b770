package kube

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A whole object as this program has it lacks what a newer one wrote into it. So it writes
// the fields that it knows, each by its name, and leaves all others as they stand. A list
// is one field: it is replaced whole.

// saveStatus writes these fields of an object's status by compare-and-swap.
func saveStatus[T any](ctx context.Context, c *Client, path string, of metav1.ObjectMeta, fields map[string]any) (*T, error) {
	return patch[T](ctx, c, mergePatch, path+"/status", map[string]any{
		"metadata": map[string]any{"resourceVersion": of.ResourceVersion}, "status": fields,
	})
}

// fieldsOf is a struct as a merge patch has to say it: every field that its type has, and
// null for one that is empty, which would stay otherwise.
func fieldsOf(v any) map[string]any {
	all := map[string]any{}
	of := reflect.ValueOf(v)
	for i := range of.NumField() {
		name, how, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ",")
		if all[name] = fieldValue(of.Field(i)); isOmitted(of.Field(i), how) {
			all[name] = nil
		}
	}
	return all
}

func fieldValue(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return fieldValue(v.Elem())
	}
	if _, own := v.Interface().(json.Marshaler); own || v.Kind() != reflect.Struct {
		return v.Interface()
	}
	return fieldsOf(v.Interface())
}

// isOmitted tells whether JSON leaves a field out that has these options.
func isOmitted(v reflect.Value, how string) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return how == "omitempty" && v.Len() == 0
	case reflect.Struct:
		return how == "omitzero" && v.IsZero()
	}
	return how != "" && v.IsZero()
}
