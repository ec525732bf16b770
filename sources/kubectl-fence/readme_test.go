package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/test/pages"
)

// TestEveryPage: each command line of the plugin on each page is one that the program takes.
func TestEveryPage(t *testing.T) {
	blocks, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for page, shells := range pages.Shells(blocks) {
		commands, err := pages.Commands(t.Context(), shells)
		if err != nil {
			t.Fatal(page, err)
		}
		for _, c := range commands {
			args := c.Args[1:]
			switch {
			case c.Args[0] == "kubectl" && len(args) > 0 && args[0] == "fence":
				args = args[1:]
			case c.Args[0] != "kubectl-fence":
				continue
			}
			n++
			if err := takes(args); err != nil {
				t.Errorf("%s: %s: %v", c.Block.At(), c, err)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d command lines were found", n)
	}
}

// inline is a command of the plugin within a sentence.
var inline = regexp.MustCompile("`kubectl fence ([a-z-]+)[^`\n]*`")

// TestEverySentence: each command that a page's sentences name is there.
func TestEverySentence(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			n++
			if c, _, err := (&program{}).root().Find(m[1:2]); err != nil || !c.HasParent() {
				t.Errorf("%s: %s: %v", path, m[0], err)
			}
		}
		return err
	})
	if err != nil || n < 20 {
		t.Errorf("%d commands were found: %v", n, err)
	}
}

// TestTheReadme: each of its command lines is typed in the transcripts of the lab, and what it shows of a
// lab is what the transcripts have.
func TestTheReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d transcripts: %v", len(files), err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	blocks := strings.Split(string(page), "```console\n")
	for _, b := range blocks[1:] {
		if shown, _, _ := strings.Cut(b, "```"); !strings.Contains(all.String(), shown) {
			t.Errorf("no transcript has\n%s", shown)
		}
	}
	n := 0
	for l := range strings.Lines(string(page)) {
		if l = strings.TrimSpace(l); !strings.HasPrefix(l, "kubectl fence ") || strings.HasPrefix(l, "kubectl fence approve node-1") && !strings.Contains(l, "--yes") {
			continue
		}
		n++
		if l != "kubectl fence --help" && !strings.Contains(all.String(), "$ "+l+"\n") {
			t.Errorf("no transcript has %q", l)
		}
	}
	if n < 18 {
		t.Errorf("only %d command lines were found", n)
	}
}
