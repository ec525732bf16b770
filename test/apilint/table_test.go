package apilint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/apitable"
)

// read is an object with whole numbers as an API server reads them.
func read(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var made map[string]any
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTable: what the API server takes and refuses, tested without one. test/e2e has the same
// rows on a real one.
func TestTable(t *testing.T) {
	for _, rows := range apitable.Read(t, "../e2e/testdata/api") {
		crd := definition(t, rows.Kind)
		rulesAreSeen(t, rows, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		s := serve(t, crd)
		for _, r := range rows.Rows {
			if r.Admission {
				continue
			}
			var was any
			if r.Was != nil {
				was = read(t, rows.Object(r, r.Was))
			}
			said := s.take(read(t, rows.Object(r, r.Spec)), was)
			if (said == "") != (r.Says == "") || !strings.Contains(said, r.Says) {
				t.Errorf("%s, %s: the API server says %q, want %q", rows.Kind, r, said, r.Says)
			}
		}
	}
}

// TestRoundTrip: each kind that people write, created by a Go client, has the values that
// YAML with the same fields gives it; with its required fields only, too.
func TestRoundTrip(t *testing.T) {
	servers := map[string]server{}
	apitable.LeftOut(t, apitable.Read(t, "../e2e/testdata/api"), func(object map[string]any) (map[string]any, error) {
		kind, _ := object["kind"].(string)
		s, is := servers[kind]
		if !is {
			s = serve(t, definition(t, kind))
			servers[kind] = s
		}
		made := read(t, object)
		if said := s.take(made, nil); said != "" {
			return nil, errors.New(said)
		}
		spec, _ := made["spec"].(map[string]any)
		return spec, nil
	})
}

// server is what an API server does with objects of one kind before it stores them.
type server struct {
	schema *schema.Structural
	fields validation.SchemaValidator
	rules  *cel.Validator
}

// definition is the CustomResourceDefinition of a kind.
func definition(t *testing.T, kind string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../infra/crd/nodefence.io_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		if crd.Spec.Names.Kind == kind {
			return crd
		}
	}
	t.Fatalf("no CRD of kind %s", kind)
	return apiextensionsv1.CustomResourceDefinition{}
}

func serve(t *testing.T, crd apiextensionsv1.CustomResourceDefinition) server {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var props apiextensions.JSONSchemaProps
	if err := scheme.Convert(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	fields, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		t.Fatal(err)
	}
	return server{structural, fields, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// take says why an object is refused; it is empty if it is not.
func (s server) take(object map[string]any, was any) string {
	for _, unknown := range pruning.PruneWithOptions(object, s.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		return fmt.Sprintf("unknown field %q", unknown)
	}
	defaulting.Default(object, s.schema)
	errs := validation.ValidateCustomResource(nil, object, s.fields)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, object)...)
	rules, _ := s.rules.Validate(context.Background(), nil, s.schema, object, was, math.MaxInt64)
	if errs = append(errs, rules...); len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}
