package layout

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// TestLinksLeadSomewhere: each relative link of a page names a file that is there, and each
// anchor a heading of that file.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	checked := 0
	for page, text := range all {
		for _, link := range linksIn(text) {
			if strings.Contains(link, ":") { // https, mailto
				continue
			}
			checked++
			if why := broken(all, page, link); why != "" {
				t.Errorf("%s links to %s: %s", page, link, why)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d links in %d pages: links are not found any more", checked, len(all))
	}
}

// entryPages are the pages that a reader opens without a link.
var entryPages = map[string]bool{"README.md": true}

// TestEveryPageIsLinked: each page is linked from another page, so that a reader can find the page.
func TestEveryPageIsLinked(t *testing.T) {
	all, linked := pages(t), map[string]bool{}
	for page, text := range all {
		for _, link := range linksIn(text) {
			if path, _, _ := strings.Cut(link, "#"); path != "" && !strings.Contains(link, ":") {
				to := filepath.Join(filepath.Dir(page), path)
				linked[to] = linked[to] || to != page
				linked[filepath.Join(to, "README.md")] = true // a link to a folder opens its index page
			}
		}
	}
	for page := range all {
		if !linked[page] && !entryPages[page] {
			t.Errorf("no page links to %s", page)
		}
	}
}

// TestDocsListEachFolder: the index of docs links to the index page of each folder below docs.
func TestDocsListEachFolder(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	index := pages(t)[filepath.Join("docs", "README.md")]
	for _, f := range folders {
		if f.IsDir() && !strings.Contains(index, "]("+f.Name()+"/README.md)") {
			t.Errorf("docs/README.md does not link to %s/README.md", f.Name())
		}
	}
}

// broken is why a page's link leads nowhere; empty if it leads somewhere.
func broken(all map[string]string, page, link string) string {
	path, anchor, _ := strings.Cut(link, "#")
	path, err := url.PathUnescape(path)
	if err != nil {
		return err.Error()
	}
	to := page
	if path != "" {
		to = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	text, is := all[to]
	if !is {
		return "only a page has headings"
	}
	for _, have := range anchorsIn(text) {
		if have == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// pages are the repository's Markdown files, by their path in it.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all[name] = prose(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// prose is a page without its blocks of code, in which a bracket or a # is something else.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if !fence && !fenced && !strings.HasPrefix(line, "    ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTo     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func linksIn(text string) (all []string) {
	for _, m := range linkTo.FindAllStringSubmatch(inlineCode.ReplaceAllString(text, ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// anchorsIn are the names by which GitHub lets a page's headings be linked to.
func anchorsIn(text string) (all []string) {
	times := map[string]int{}
	for line := range strings.Lines(text) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.TrimSpace(linkText.ReplaceAllString(title, "$1")))
		if n := times[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", name, n))
		} else {
			all = append(all, name)
		}
		times[name]++
	}
	return all
}
