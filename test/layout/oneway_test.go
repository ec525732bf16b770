package layout

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneWay are packages whose files can be read in an order in which each file needs only earlier ones.
var oneWay = []string{
	"functions/adopt", "functions/adopt/healthchecks", "functions/policystatus",
	"functions/gate", "functions/gate/admit", "functions/gate/checks", "functions/gate/open", "functions/gate/requests",
	"shared/binding", "shared/config", "shared/devicecall", "shared/jobs", "shared/kube", "shared/readiness",
	"sources/apiserver", "sources/kubectl-fence",
}

// TestNoFilesNeedEachOther: a file needs those that declare a type, function, method, constant or
// variable that it uses.
func TestNoFilesNeedEachOther(t *testing.T) {
	for name, p := range compiled(t, oneWay) {
		for _, cycle := range cyclesOf(typedNeeds(t, p.files, p.exports)) {
			t.Errorf("%s: these files need each other: %v", name, cycle)
		}
	}
}

// compiledPackage has the paths of a package's sources, and what the compiler wrote for each
// package that they import.
type compiledPackage struct {
	files   []string
	exports map[string]string
}

// compiled returns packages by their folders.
func compiled(t *testing.T, folders []string) map[string]compiledPackage {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, name := range folders {
		args = append(args, module+"/"+name)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all, exports := map[string]compiledPackage{}, map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if name := strings.TrimPrefix(p.ImportPath, module+"/"); slices.Contains(folders, name) {
			for i := range p.GoFiles {
				p.GoFiles[i] = filepath.Join(p.Dir, p.GoFiles[i])
			}
			all[name] = compiledPackage{p.GoFiles, exports}
		}
	}
	if len(all) != len(folders) {
		t.Fatalf("%d packages of %d were found", len(all), len(folders))
	}
	return all
}

// typedNeeds returns the files that each file of a package needs.
func typedNeeds(t *testing.T, paths []string, exports map[string]string) map[string][]string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(set, "gc", open)}).Check("p", set, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string][]string{}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !isDeclared(pkg, o) {
			continue
		}
		file, of := filepath.Base(set.Position(id.Pos()).Filename), filepath.Base(set.Position(o.Pos()).Filename)
		if file != of && !slices.Contains(needs[file], of) {
			needs[file] = append(needs[file], of)
		}
	}
	return needs
}

// isDeclared reports whether an object is declared by a package itself, or is a method of what is. The type
// decision does not count: each file of the core has methods of it.
func isDeclared(pkg *types.Package, o types.Object) bool {
	fn, is := o.(*types.Func)
	return o.Parent() == pkg.Scope() && o.Name() != "decision" || is && fn.Signature().Recv() != nil
}
