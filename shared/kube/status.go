package kube

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This program's copy of an object lacks what a newer program wrote into it. So it writes only
// the fields that it knows, each by its name, and leaves all others as they are. A list is one
// field: it is replaced whole.

// saveStatus writes these fields of an object's status by compare-and-swap.
func saveStatus[T any](ctx context.Context, c *Client, path string, of metav1.ObjectMeta, fields map[string]any) (*T, error) {
	return patch[T](ctx, c, mergePatch, path+"/status", map[string]any{
		"metadata": map[string]any{"resourceVersion": of.ResourceVersion}, "status": fields,
	})
}

// fieldsOf is a struct in the form of a merge patch: every field of its type, with null for an
// empty one, which would otherwise keep its old value.
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

// isOmitted tells whether JSON leaves out a field with these options.
func isOmitted(v reflect.Value, how string) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return how == "omitempty" && v.Len() == 0
	case reflect.Struct:
		return how == "omitzero" && v.IsZero()
	}
	return how != "" && v.IsZero()
}
