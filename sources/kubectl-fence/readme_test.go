package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReadme: each of its command lines is typed in the transcripts of the lab, or only looks, and
// what it shows of a lab is what the transcripts have.
func TestTheReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 6 {
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
	typed := map[string]bool{
		"kubectl fence --help": true, "kubectl fence status -w": true, "kubectl fence init --for metal": true, "kubectl fence bundle": true, "kubectl fence ui": true, // what they say differs each time
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
		if !typed[l] && !strings.Contains(all.String(), "$ "+l+"\n") {
			t.Errorf("no transcript has %q", l)
		}
	}
	if n < 18 {
		t.Errorf("only %d command lines were found", n)
	}
}
