package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnePlaceMakesThePicture: an admission.Picture that is made by hand would leave out
// what the gate counts, such as missing nodes, and would say that a fence may begin that
// may not.
func TestOnePlaceMakesThePicture(t *testing.T) {
	root := filepath.Join("..", "..")
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "test.go") || strings.Contains(filepath.Dir(path), "fencetest") {
			return err
		}
		of, _ := filepath.Rel(root, path)
		if of == filepath.Join("shared", "admission", "picture.go") {
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range pictures(f, filepath.Dir(of) == filepath.Join("shared", "admission")) {
			t.Errorf("%s makes a admission.Picture: admission.NewPicture alone does", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pictures returns the places where a file makes an admission.Picture, or adds missing
// nodes to one.
func pictures(f *ast.File, own bool) (all []token.Pos) {
	name := ""
	for _, i := range f.Imports {
		if strings.Trim(i.Path.Value, `"`) == module+"/shared/admission" {
			if name = "admission"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	isPicture := func(e ast.Expr) bool {
		if id, is := e.(*ast.Ident); is {
			return own && id.Name == "Picture"
		}
		s, is := e.(*ast.SelectorExpr)
		if !is || s.Sel.Name != "Picture" {
			return false
		}
		x, is := s.X.(*ast.Ident)
		return is && name != "" && x.Name == name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			if isPicture(x.Type) {
				all = append(all, x.Pos())
			}
		case *ast.CallExpr:
			if id, is := x.Fun.(*ast.Ident); is && own && id.Name == "withMissing" {
				all = append(all, x.Pos())
			}
		}
		return true
	})
	return all
}
