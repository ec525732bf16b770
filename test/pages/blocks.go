package pages

import (
	"strings"
)

// reader goes through the lines of one page.
type reader struct {
	page string
	out  []Block
	// open is the block that has begun; lines are its lines.
	open  *Block
	lines []string
	// fenced: it ends with a fence. blank: the line before has nothing in it.
	fenced, blank bool
}

// Of are the blocks of one page.
func Of(page, text string) []Block {
	r := reader{page: page, blank: true}
	n := 0
	for l := range strings.Lines(text) {
		n++
		r.line(n, strings.TrimRight(l, "\n"))
	}
	r.end()
	return r.out
}

func (r *reader) line(n int, l string) {
	bare := strings.TrimSpace(l)
	lang, fence := strings.CutPrefix(bare, "```")
	switch {
	case r.fenced && fence:
		r.end()
	case r.fenced:
		r.lines = append(r.lines, l)
	case fence:
		r.end()
		r.open, r.fenced = &Block{Page: r.page, Line: n + 1, Lang: lang}, true
	case r.open != nil && (bare == "" || strings.HasPrefix(l, "    ")):
		r.lines = append(r.lines, l)
	case r.blank && strings.HasPrefix(l, "    "):
		r.open, r.lines = &Block{Page: r.page, Line: n}, []string{l}
	default:
		r.end()
	}
	r.blank = bare == ""
}

// end takes what indentation all lines have, and the empty lines at the end.
func (r *reader) end() {
	if r.open == nil {
		return
	}
	least := -1
	for _, l := range r.lines {
		if in := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (least < 0 || in < least) {
			least = in
		}
	}
	for i, l := range r.lines {
		r.lines[i] = l[min(max(least, 0), len(l)):]
	}
	r.open.Text = strings.TrimRight(strings.Join(r.lines, "\n"), "\n ") + "\n"
	r.out = append(r.out, *r.open)
	r.open, r.lines, r.fenced = nil, nil, false
}
