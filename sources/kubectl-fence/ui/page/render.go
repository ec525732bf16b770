package page

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

//go:embed html/*.html
var files embed.FS

// shapes are the kinds of states as shapes, on a square of 16 by 16: they differ without colour.
var shapes = map[string]string{
	"failed":      "M3 1.6 8 6.6l5-5L14.4 3l-5 5 5 5-1.4 1.4-5-5-5 5L1.6 13l5-5-5-5z",
	"missing":     "M7 1h2v9H7zM7 12h2v3H7z",
	"held":        "M3 2h4v12H3zM9 2h4v12H9z",
	"fencing":     "M9.5 1 3 9h4l-1 6 7-8.5H8.5z",
	"silent":      "M4 5.5a4 4 0 1 1 5 3.9V11H7V7.8h1a2 2 0 1 0-2-2.3zM7 12.5h2v2H7z",
	"fenced":      "M2.5 2.5h11v11h-11z",
	"unfenceable": "M8 1.5 15.5 14.5H.5zM7.2 6v4h1.6V6zm0 5v1.6h1.6V11z",
	"unwatched":   "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.8a4.2 4.2 0 1 1 0 8.400 4.2 4.2 0 0 1 0-8.400z",
	"ready":       "M13.3 3.2 14.7 4.6 6.5 12.8 1.8 8.100l1.400-1.400 3.3 3.3z",
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"shape": func(kind string) string { return shapes[kind] },
	"join":  func(all []string) string { return strings.Join(all, ", ") },
	"nodes": func(n int32) string { return view.Count(n, "node", "nodes") },
	"pair":  func(a, b any) []any { return []any{a, b} },
}).ParseFS(files, "html/*.html"))

// Shown is a page that can be rendered.
type Shown interface {
	Title() string
	Saying() string
	// Live tells whether what was read for it is shown as it is now.
	Live() bool
}

// templateOf is the template of a page's content.
func templateOf(p Shown) string {
	switch p.(type) {
	case *Cluster:
		return "cluster.html"
	case *Node:
		return "node.html"
	case *Policies:
		return "policies.html"
	case *History:
		return "history.html"
	case *Confirm:
		return "confirm.html"
	}
	return "message.html"
}

// Frame is a whole page.
type Frame struct {
	*Look
	Title, Saying string
	// AsOf is the time of what is shown, for people; empty for a page that does not change.
	AsOf string
	// Path is the page's own, with its query, for what follows it; empty for a page that does not
	// change.
	Path string
	// Here names the entry of the navigation that is this page; empty if none is.
	Here string
	Main template.HTML
}

// Main renders the content of a page: its main element.
func Main(p Shown) (template.HTML, error) {
	var b bytes.Buffer
	err := pages.ExecuteTemplate(&b, templateOf(p), p)
	return template.HTML(b.String()), err // it is what html/template has just written
}

// Write renders a whole page around its content.
func Write(w io.Writer, f *Frame) error { return pages.ExecuteTemplate(w, "frame.html", f) }

// ago is what changes by the passing of time alone.
var ago = regexp.MustCompile(`<span class="ago">[^<]*</span>`)

// Timeless is a page's content without what changes by the passing of time alone.
func Timeless(main template.HTML) string { return ago.ReplaceAllString(string(main), "") }
