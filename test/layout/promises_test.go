package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/test/golden"
)

const (
	promisesFile = "../../shared/PROMISES.md"
	// heldBy begins the lines of it that are generated.
	heldBy = "Held by "
	// table is how many promises a test names at most that holds them: one that names more
	// is a list of them.
	table = 6
	// twinsFolder has the broken twins of Decide, twinsTable says which promise each breaks.
	twinsFolder, twinsTable = "shared/fence/fencetest/twins", "breaks"
)

var (
	promiseTitle = regexp.MustCompile(`(?m)^### S(\d+): .+$`)
	citation     = regexp.MustCompile(`\bS([1-9][0-9]?)\b`)
)

// TestGeneratedPromises: each promise names the tests and the broken twins that hold it,
// and each number that the code cites is a promise.
func TestGeneratedPromises(t *testing.T) {
	text, err := os.ReadFile(promisesFile)
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{}
	for _, m := range promiseTitle.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		if known[n] = true; len(known) != n {
			t.Errorf("promise S%d does not follow S%d", n, len(known)-1)
		}
	}
	c := collect(t, known)
	var out []string
	var at int
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, heldBy) {
			continue
		}
		if m := promiseTitle.FindStringSubmatch(line); m != nil || strings.HasPrefix(line, "## ") {
			out = c.close(t, out, at)
			at = 0
			if m != nil {
				at, _ = strconv.Atoi(m[1])
			}
		}
		out = append(out, line)
	}
	golden.File(t, promisesFile, strings.Join(c.close(t, out, at), "\n")+"\n")
}

// unlinked are pages that name promises and need no link to them, and why.
var unlinked = map[string]string{
	"infra/SCALE.md": "says beside each number what it is about",
}

// inWords is a promise whose words follow its number.
var inWords = regexp.MustCompile(`\bS[1-9][0-9]?: `)

// TestPagesLinkToPromises: a page that names a promise by its number links to the page that has them,
// unless the words of each stand beside it.
func TestPagesLinkToPromises(t *testing.T) {
	named := 0
	for page, text := range pages(t) {
		if len(cited(inWords.ReplaceAllString(text, ""))) == 0 || page == "shared/PROMISES.md" || unlinked[page] != "" {
			continue
		}
		named++
		if !slices.ContainsFunc(linksIn(text), func(l string) bool { return strings.HasSuffix(l, "PROMISES.md") }) {
			t.Errorf("%s names promises by their numbers: link the first to shared/PROMISES.md, or write each one's words beside it", page)
		}
	}
	if named < 10 {
		t.Errorf("only %d pages name promises: they are not found any more", named)
	}
}

// checks are the tests by promise and package, and how many twins break each promise.
type checks struct {
	tests map[int]map[string][]string
	twins map[int]int
}

// close ends the text of a promise with what holds it.
func (c *checks) close(t *testing.T, out []string, promise int) []string {
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	if promise > 0 {
		var held []string
		for _, name := range slices.Sorted(maps.Keys(c.tests[promise])) {
			slices.Sort(c.tests[promise][name])
			held = append(held, name+": "+strings.Join(c.tests[promise][name], ", "))
		}
		if n := c.twins[promise]; n > 0 {
			held = append(held, fmt.Sprintf("broken twins: %d", n))
		}
		if len(held) == 0 {
			t.Errorf("no test cites promise S%d", promise)
		}
		out = append(out, "", heldBy+strings.Join(held, "; ")+".")
	}
	return append(out, "")
}

// collect reads what every Go file of the project cites.
func collect(t *testing.T, known map[int]bool) *checks {
	t.Helper()
	c := &checks{tests: map[int]map[string][]string{}, twins: map[int]int{}}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..", d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		return c.read(t, path, known)
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *checks) read(t *testing.T, path string, known map[int]bool) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		for _, n := range cited(group.Text()) {
			if !known[n] {
				t.Errorf("%s cites S%d, which is no promise", path, n)
			}
		}
	}
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
	if !strings.HasSuffix(path, "_test.go") && folder != twinsFolder {
		return nil
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !strings.HasPrefix(d.Name.Name, "Test") {
				continue
			}
			from := d.Pos()
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
			about := cited(string(src[from-1 : d.End()-1]))
			if len(about) > table {
				continue
			}
			for _, n := range about {
				if c.tests[n] == nil {
					c.tests[n] = map[string][]string{}
				}
				c.tests[n][folder] = append(c.tests[n][folder], d.Name.Name)
			}
		case *ast.GenDecl:
			c.count(d)
		}
	}
	return nil
}

// count takes the twins' table.
func (c *checks) count(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, is := spec.(*ast.ValueSpec)
		if !is || len(v.Names) != 1 || v.Names[0].Name != twinsTable || len(v.Values) != 1 {
			continue
		}
		table, is := v.Values[0].(*ast.CompositeLit)
		if !is {
			continue
		}
		for _, e := range table.Elts {
			if row, is := e.(*ast.KeyValueExpr); is {
				if says, is := row.Value.(*ast.BasicLit); is {
					for _, n := range cited(says.Value) {
						c.twins[n]++
					}
				}
			}
		}
	}
}

// cited are the promises that a text names, each once.
func cited(text string) []int {
	var all []int
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
