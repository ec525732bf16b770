package fence_test

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/test/golden"
)

// vocabulary lists all reasons and actions, a kind and a word a line. It is part of the test program, as states is.
//
//go:embed testdata/words.txt
var vocabulary string

// checkCoverage tells what the walk has come to. A reason or an action that it did not meet
// with is one that nothing is checked of, and so wants words that say why.
func checkCoverage(t *testing.T, r *walk.Result) {
	t.Helper()
	reasons, actions := wordsOf[api.Reason]("Reason"), wordsOf[fence.Action]("Action")
	t.Logf("the walk\n%s", r.Coverage(reasons, actions))
	for _, wrong := range r.Unexplained(reasons, actions) {
		t.Error(wrong)
	}
}

// wordsOf returns the words of one kind.
func wordsOf[T ~string](kind string) (all []T) {
	for line := range strings.Lines(vocabulary) {
		if of, word, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); of == kind {
			all = append(all, T(word))
		}
	}
	return all
}

// TestGeneratedWords checks that words.txt lists the constants of the sources.
func TestGeneratedWords(t *testing.T) {
	var b strings.Builder
	for _, r := range constantsOf[api.Reason](t, "../api/v1alpha1/reasons.go", "Reason") {
		b.WriteString("Reason " + string(r) + "\n")
	}
	for _, a := range constantsOf[fence.Action](t, "outcome.go", "Action") {
		b.WriteString("Action " + string(a) + "\n")
	}
	golden.File(t, "testdata/words.txt", b.String())
}

// constantsOf are the values of the constants that a file has of a type.
func constantsOf[T ~string](t *testing.T, file, of string) (all []T) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is || len(v.Values) != 1 {
			return true
		}
		typ, named := v.Type.(*ast.Ident)
		if text, is := v.Values[0].(*ast.BasicLit); is && named && typ.Name == of {
			value, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, T(value))
		}
		return true
	})
	return all
}

// TestWhatIsTheSameInEveryLook is what walk.Unvaried says, and no more: whoever adds a field to
// a look shows it to the walk, or says what tests it instead.
func TestWhatIsTheSameInEveryLook(t *testing.T) {
	t.Parallel()
	parts := varied{first: map[string]reflect.Value{}, differs: map[string]bool{}}
	decide := func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		parts.note("", reflect.ValueOf(s))
		return fence.Decide(f, s, now)
	}
	walk.Run(decide, walk.Options{From: walk.LostJustNow(), Most: 20})
	for i, h := range []walk.Options{{Few: 5, Most: 120}, {Few: 7, Most: 300}, {Few: 3, Most: 1000}} {
		if i > 0 && len(parts.unsaid()) == 0 {
			break // deeper hunts are for what a few looks did not show
		}
		for _, spec := range append(walk.Specs(), specs.Counted(), specs.Joined()) {
			h.From = walk.Begin(spec)
			walk.Run(decide, h)
		}
	}
	for _, part := range parts.unsaid() {
		t.Errorf("%s is the same in every look, and walk.Unvaried does not say what tests it", part)
	}
	for part := range parts.differs {
		if walk.Unvaried[part] != "" {
			t.Errorf("%s is not the same in every look, and walk.Unvaried says so", part)
		}
	}
	for part := range walk.Unvaried {
		if !parts.first[part].IsValid() {
			t.Errorf("%s is no part of any look", part)
		}
	}
}

// varied are the parts of looks, and whether two were different.
type varied struct {
	first   map[string]reflect.Value
	differs map[string]bool
}

// unsaid are the parts that were the same in every look so far, and nothing says why.
func (v *varied) unsaid() (all []string) {
	for _, part := range slices.Sorted(maps.Keys(v.first)) {
		if !v.differs[part] && walk.Unvaried[part] == "" && !strings.HasPrefix(part, "Node.Plans.") {
			all = append(all, part)
		}
	}
	return all
}

// note takes in one look, or one part of it.
func (v *varied) note(part string, is reflect.Value) {
	if part == "" || is.Kind() == reflect.Struct && slices.Contains(structs, part) {
		for i := range is.NumField() {
			name := is.Type().Field(i).Name
			if part != "" {
				name = part + "." + name
			}
			v.note(name, is.Field(i))
		}
		return
	}
	if is.Kind() == reflect.Pointer && slices.Contains(structs, part) {
		if !is.IsNil() {
			v.note(part, is.Elem())
		}
		return
	}
	first, was := v.first[part]
	if !was {
		v.first[part] = is
		return
	}
	if !v.differs[part] && !reflect.DeepEqual(first.Interface(), is.Interface()) {
		v.differs[part] = true
	}
}

// structs are the parts of a look that have parts.
var structs = []string{"Node", "Lease", "Call", "Brakes", "Machine", "Verdict", "Checked", "Dump", "Left"}
