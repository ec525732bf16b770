package pages

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const root = "../.."

func all(t *testing.T) []Block {
	t.Helper()
	blocks, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestEveryExampleIsHeld: each block of each page is of a class that a test takes, or is excepted with a
// reason.
func TestEveryExampleIsHeld(t *testing.T) {
	blocks := all(t)
	n := map[Class]int{}
	for _, b := range blocks {
		c := b.Class()
		n[c]++
		if c == Unknown {
			t.Errorf("%s: no test takes this block. Write it as whole objects, as a part of a FencePolicy or of an overlay, as a ConfigMap's text or as commands (test/pages/pages.go says which test takes which), or say in test/pages/excepted.go why none can:\n%s", b.At(), b.Text)
		}
	}
	for class, least := range map[Class]int{Manifest: 20, PolicyPart: 4, Overlay: 1, OverlayPart: 6, Device: 9, Shell: 50, Unit: 1, Transcript: 2} {
		if n[class] < least {
			t.Errorf("only %d blocks are of class %s, want %d: they are not found any more", n[class], class, least)
		}
	}
	for _, x := range exceptions {
		if !slices.ContainsFunc(blocks, func(b Block) bool { return b.Page == x.page && strings.HasPrefix(b.Text, x.begins) }) {
			t.Errorf("%s has no block any more that begins %q: take it out of test/pages/excepted.go", x.page, x.begins)
		}
	}
}

// TestBlocks are found wherever Markdown has them, and nowhere else.
func TestBlocks(t *testing.T) {
	page := "# T\n\ntext\n    goes on\n\n    a\n\n      b\n\n- item\n\n      kubectl c\n\n```yaml\nx: 1\n\ny: 2\n```\n  ```sh\n  d\n  ```\n\n    e"
	want := []Block{
		{"p.md", 6, "", "a\n\n  b\n"}, {"p.md", 12, "", "kubectl c\n"}, {"p.md", 15, "yaml", "x: 1\n\ny: 2\n"}, {"p.md", 20, "sh", "d\n"}, {"p.md", 23, "", "e\n"},
	}
	if d := cmp.Diff(want, Of("p.md", page)); d != "" {
		t.Error(d)
	}
}

// TestClasses: what no test takes is of none.
func TestClasses(t *testing.T) {
	for text, want := range map[string]Class{
		"kubectl get nodes\n":                                          Shell,
		"K_SINK=http://x nodefence-source\n":                           Shell,
		"NODEFENCE_BUS=b   # a bus\n":                                  Shell,
		"agent_name=fence_apc\nplug=7\n":                               Device,
		"config.properties: |\n  a=b\n":                                Device,
		"components: [../../components/jobs]\n":                        OverlayPart,
		"kind: Kustomization\nresources: [../deployments]\n":           Overlay,
		"spec: {mode: DryRun}\n":                                       PolicyPart,
		"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n":            Manifest,
		"apiVersion: v1\nkind: Node\n":                                 Unknown,
		"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\nx: 1\n": Unknown,
		"mode: DryRun\n":                                               Unknown,
		"spec: {mode: DryRun\n":                                        Unknown,
		"NAME   READY\na      True\n":                                  Unknown,
	} {
		if got := (Block{Text: text}).Class(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestColumns: the table of FenceTargets that a page shows has the columns that kubectl shows.
func TestColumns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "infra/crd/nodefence.io_fencetargets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				AdditionalPrinterColumns []struct {
					Name     string
					Priority int
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	want := []string{"NAME"}
	for _, c := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if c.Priority == 0 {
			want = append(want, c.Name)
		}
	}
	n := 0
	for _, b := range all(t) {
		if head, _, _ := strings.Cut(b.Text, "\n"); b.Page == "functions/power/CHECKS.md" && strings.HasPrefix(head, "NAME ") {
			n++
			if d := cmp.Diff(want, strings.Fields(head)); d != "" {
				t.Errorf("%s: %s", b.At(), d)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d tables were found", n)
	}
}

var setting = regexp.MustCompile(`NODEFENCE_[A-Z0-9_]*[A-Z0-9]`)

// TestSettings: each variable of nodefence's that a page names is one that a program reads, or that a
// Job of nodefence's gets.
func TestSettings(t *testing.T) {
	known := map[string]bool{}
	quoted := regexp.MustCompile(`"(NODEFENCE_[A-Z0-9_]+)"`)
	walk(t, ".go", func(path, text string) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") {
			return
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			known[m[1]] = true
		}
	})
	n := 0
	walk(t, ".md", func(path, text string) {
		for _, name := range setting.FindAllString(text, -1) {
			n++
			if !known[name] {
				t.Errorf("%s names %s, which no program reads: correct it", path, name)
			}
		}
	})
	if n < 50 {
		t.Errorf("only %d settings were found", n)
	}
}

// walk goes through the repository's files of one kind.
func walk(t *testing.T, ext string, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ext {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		do(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCommandsOfAPipe: both sides of a pipe say at the same time what they are, each in one piece.
func TestCommandsOfAPipe(t *testing.T) {
	b := Block{Page: "P.md", Text: strings.Repeat("kubectl get x | jq '.a |\n  .b |\n  .c'\n", 500)}
	commands, err := Commands(t.Context(), []Block{b})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, c := range commands {
		n[strings.Join(c.Args, "!")]++
	}
	if want := map[string]int{"kubectl!get!x": 500, "jq!.a |\n  .b |\n  .c": 500}; !maps.Equal(n, want) {
		t.Errorf("%v, want %v", n, want)
	}
}
