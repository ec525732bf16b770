package apilint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
)

// table is a file of test/e2e/testdata/api, which says what its fields are.
type table struct {
	Kind, Name string
	Plain      map[string]any
	Rows       []row
}

type row struct {
	About, Name, Without, Says string
	Spec, Was                  map[string]any
	Admission                  bool
}

// object is a row's, with this spec, and with whole numbers as an API server reads them.
func (rows table) object(t *testing.T, r row, spec map[string]any) map[string]any {
	t.Helper()
	all := maps.Clone(rows.Plain)
	delete(all, r.Without)
	maps.Copy(all, spec)
	text, err := json.Marshal(map[string]any{"apiVersion": "nodefence.io/v1alpha1", "kind": rows.Kind,
		"metadata": map[string]any{"name": cmp.Or(r.Name, rows.Name, "a")}, "spec": all})
	if err != nil {
		t.Fatal(err)
	}
	var made map[string]any
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTable: what the API server takes and refuses, without one. test/e2e has the same
// rows on a real one.
func TestTable(t *testing.T) {
	files, err := filepath.Glob("../e2e/testdata/api/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows table
		if err := yaml.UnmarshalStrict(text, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		crd := definition(t, rows.Kind)
		rulesAreSeen(t, rows, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		s := serve(t, crd)
		for _, r := range rows.Rows {
			if r.Admission {
				continue
			}
			var was any
			if r.Was != nil {
				was = rows.object(t, r, r.Was)
			}
			said := s.take(rows.object(t, r, r.Spec), was)
			if (said == "") != (r.Says == "") || !strings.Contains(said, r.Says) {
				t.Errorf("%s, %s: the API server says %q, want %q", rows.Kind, r.About, said, r.Says)
			}
		}
	}
}

// server is what an API server does with objects of one kind before it stores them.
type server struct {
	schema *schema.Structural
	fields validation.SchemaValidator
	rules  *cel.Validator
}

// definition is a kind's.
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

// take says why an object is refused; nothing if it is not.
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
