package apilint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	_ "sigs.k8s.io/kube-api-linter/pkg/registration" // all of its linters
)

// settings are those of kube-api-linter.
var settings = config.LintersConfig{
	"conditions":     map[string]any{"isFirstField": "Ignore", "useProtobuf": "Forbid", "usePatchStrategy": "Forbid"},
	"defaults":       map[string]any{"preferredDefaultMarker": "kubebuilder:default"},
	"requiredfields": map[string]any{"omitempty": map[string]any{"policy": "Ignore"}},
}

// besides are linters that run only if they are named.
var besides = []string{"maxlength", "statusoptional", "statussubresource"}

// off are linters that complain about what is so on purpose; CONTRIBUTING says why.
var off = []string{"arrayofstruct", "nomaps", "nonpointerstructs", "nophase", "optionalfields"}

// inSpecs are linters that count only for what people write, and not for what only nodefence
// writes; CONTRIBUTING says why.
var inSpecs = []string{"nodurations", "requiredfields"}

// TestLint: kube-api-linter finds nothing in the API that is not so on purpose.
func TestLint(t *testing.T) {
	api := load(t)
	linters, err := registry.DefaultRegistry().InitializeLinters(config.Linters{Enable: besides, Disable: off}, settings)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze(linters, []*packages.Package{api}, nil)
	if err != nil {
		t.Fatal(err)
	}
	specs := written(api)
	for a := range graph.All() {
		if a.Err != nil {
			t.Errorf("%s: %v", a.Analyzer.Name, a.Err)
		}
		if !a.IsRoot {
			continue
		}
		for _, d := range a.Diagnostics {
			of := structAt(api, d.Pos)
			if heard(a.Analyzer.Name, of, specs[of]) {
				at := api.Fset.Position(d.Pos)
				t.Errorf("%s:%d: %s: %s", filepath.Base(at.Filename), at.Line, a.Analyzer.Name, d.Message)
			}
		}
	}
}

// heard tells whether a finding counts. A struct with a lower-case name is no part of the API.
func heard(linter, of string, inSpec bool) bool {
	return (of == "" || ast.IsExported(of)) && (inSpec || !slices.Contains(inSpecs, linter))
}

// TestWhatIsLeftOutIsNotSent: a Go client that leaves out an optional field sends nothing for it,
// and so gets the default, as YAML does. An empty text is never sent; 0 and false have a meaning
// of their own, so that a number or a bool with a default is a pointer. One that leaves out a
// required struct is refused, as YAML is, and does not send {}, which chooses every node.
// kube-api-linter's optionalfields, which does not look at defaults, wants a pointer for each
// text.
func TestWhatIsLeftOutIsNotSent(t *testing.T) {
	api := load(t)
	for name := range written(api) {
		for _, f := range fieldsOf(api, name) {
			if len(f.Names) == 0 {
				continue
			}
			at := name + "." + f.Names[0].Name
			sent := !strings.Contains(f.Tag.Value, ",omitempty") && !strings.Contains(f.Tag.Value, ",omitzero")
			optional, typ := strings.Contains(comments(f), "+optional"), api.TypesInfo.TypeOf(f.Type)
			if optional && sent {
				t.Errorf("%s is optional, and its zero value is sent: let its tag say omitempty", at)
			}
			plain, ok := typ.Underlying().(*types.Basic)
			if ok && optional && plain.Kind() != types.String && strings.Contains(comments(f), "+kubebuilder:default") {
				t.Errorf("%s has a default, and its zero value cannot be told from none: let it be a pointer", at)
			}
			// omitempty never leaves out a struct.
			if ours(api.Types, typ) && !optional && !strings.Contains(f.Tag.Value, ",omitzero") {
				t.Errorf("%s is required, and {} is sent for what was left out: let it be a pointer", at)
			}
		}
	}
}

// ours tells whether a type is a struct of the API's own, and no pointer to one.
func ours(api *types.Package, t types.Type) bool {
	_, isStruct := t.Underlying().(*types.Struct)
	named, isNamed := t.(*types.Named)
	return isStruct && isNamed && named.Obj().Pkg() == api
}

// fieldsOf are a struct's fields as they are written.
func fieldsOf(api *packages.Package, name string) (fields []*ast.Field) {
	for _, file := range api.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			if ts, ok := n.(*ast.TypeSpec); ok && ts.Name.Name == name {
				fields = ts.Type.(*ast.StructType).Fields.List
			}
			return fields == nil
		})
	}
	return fields
}

// comments are the lines before a field, also its markers.
func comments(f *ast.Field) string {
	var b strings.Builder
	if f.Doc != nil {
		for _, c := range f.Doc.List {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

func load(t *testing.T) *packages.Package {
	t.Helper()
	found, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: "../.."}, "./shared/api/v1alpha1")
	if err != nil || len(found) != 1 || len(found[0].Errors) > 0 {
		t.Fatalf("load the API's types: %v, %v", found, err)
	}
	return found[0]
}

// written are the structs that people write: all that a spec holds. Of a NodeFence's it
// is the requests.
func written(api *packages.Package) map[string]bool {
	into := map[string]bool{}
	scope := api.Types.Scope()
	for _, name := range scope.Names() {
		kind, isStruct := scope.Lookup(name).Type().Underlying().(*types.Struct)
		if !isStruct || !strings.HasPrefix(fmt.Sprint(field(kind, "ObjectMeta")), "k8s.io/") {
			continue
		}
		spec := field(kind, "Spec")
		if name == "NodeFence" {
			spec = field(spec.Underlying().(*types.Struct), "Requests")
		}
		if spec != nil {
			reach(into, api.Types, spec)
		}
	}
	return into
}

func field(of *types.Struct, name string) types.Type {
	for f := range of.Fields() {
		if f.Name() == name {
			return f.Type()
		}
	}
	return nil
}

func reach(into map[string]bool, in *types.Package, t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		reach(into, in, t.Elem())
	case *types.Slice:
		reach(into, in, t.Elem())
	case *types.Map:
		reach(into, in, t.Elem())
	case *types.Named:
		of, isStruct := t.Underlying().(*types.Struct)
		if t.Obj().Pkg() != in || !isStruct || into[t.Obj().Name()] {
			return
		}
		into[t.Obj().Name()] = true
		for f := range of.Fields() {
			reach(into, in, f.Type())
		}
	}
}

// structAt names the type whose declaration a place is in.
func structAt(api *packages.Package, at token.Pos) string {
	for _, file := range api.Syntax {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Pos() <= at && at < g.End() {
				for _, s := range g.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && (len(g.Specs) == 1 || ts.Pos() <= at && at < ts.End()) {
						return ts.Name.Name
					}
				}
			}
		}
	}
	return ""
}
