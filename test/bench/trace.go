package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// call is one request, from its start to the end of its answer.
type call struct {
	asked
	object     string
	start, end time.Time
	status     int
	// bytes is the length of the answer's body, as it was sent.
	bytes int64
	// phase is what a write of a NodeFence's status enters.
	phase string
}

// trace keeps every request but watches, which it counts while they are open.
type trace struct {
	mu      sync.Mutex
	calls   []call
	watches map[string]int
}

func (t *trace) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c := call{asked: kindOf(r), object: objectOf(r), phase: phaseIn(r), start: time.Now()}
		watch := r.URL.Query().Get("watch") != ""
		resp, err := next.RoundTrip(r)
		if err != nil {
			c.end = time.Now()
			t.add(c, watch)
			return resp, err
		}
		c.status = resp.StatusCode
		if watch {
			t.open(c.resource, 1)
		}
		body := &heard{ReadCloser: resp.Body}
		body.ended = func() {
			c.end, c.bytes = time.Now(), body.bytes.Load()
			if watch {
				t.open(c.resource, -1)
			}
			t.add(c, watch)
		}
		resp.Body = body
		return resp, nil
	})
}

func (t *trace) add(c call, watch bool) {
	if watch {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, c)
}

func (t *trace) open(resource string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watches == nil {
		t.watches = map[string]int{}
	}
	t.watches[resource] += n
}

// between are the requests that began in a time, in the order of their start.
func (t *trace) between(from, to time.Time) []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []call
	for _, c := range t.calls {
		if !c.start.Before(from) && c.start.Before(to) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b call) int { return a.start.Compare(b.start) })
	return all
}

// heard is an answer whose end is told, once, and whose bytes are counted.
type heard struct {
	io.ReadCloser
	once  sync.Once
	ended func()
	bytes atomic.Int64
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.bytes.Add(int64(n))
	return n, err
}

func (h *heard) Close() error {
	err := h.ReadCloser.Close()
	h.once.Do(h.ended)
	return err
}

// objectOf is the name in the path, empty where there is none.
func objectOf(r *http.Request) string {
	if parts := pathOf(r); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// phaseIn is the phase that a write of a NodeFence's status enters.
func phaseIn(r *http.Request) string {
	if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/nodefences/") || r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(body)
	_, after, found := bytes.Cut(text, []byte(`"phase":"`))
	for rest := after; found; _, rest, found = bytes.Cut(rest, []byte(`"phase":"`)) {
		after = rest // that of the record comes behind its history's
	}
	phase, _, _ := bytes.Cut(after, []byte(`"`))
	return string(phase)
}

// verbs in the order in which they are printed; from writes on each changes something.
var verbs = []string{"GET", "LIST", "POST", "PUT", "PATCH", "DELETE"}

const writes = 2

// functionTable prints a share of all requests, by function and verb, with the writes apart.
func functionTable(w io.Writer, title string, calls []call, fences int) error {
	fmt.Fprintln(w, title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tall\treads\twrites\t%s\t\n", strings.Join(verbs, "\t"))
	rows := append(slices.Clone(chain), "all of these")
	rows = append(rows, beside...)
	for _, row := range rows {
		n := make([]int, len(verbs))
		for _, c := range calls {
			i := slices.Index(verbs, c.verb)
			if i >= 0 && (c.function == row || row == "all of these" && slices.Contains(chain, c.function)) {
				n[i]++
			}
		}
		reads, wrote := 0, 0
		for i := range n {
			if i < writes {
				reads += n[i]
			} else {
				wrote += n[i]
			}
		}
		if reads+wrote == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s", row, share(reads+wrote, fences), share(reads, fences), share(wrote, fences))
		for i := range n {
			fmt.Fprintf(t, "\t%s", share(n[i], fences))
		}
		fmt.Fprint(t, "\t\n")
	}
	return t.Flush()
}

// share is a count for each fence, nothing where there is none.
func share(n, fences int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/float64(max(fences, 1)))
}

// chain are the functions that work on a fence; those beside it ask whether there is one or not.
var (
	chain  = []string{"gate", "isolate", "power", "cleanup", "recover", "deadletter"}
	beside = []string{"source", "resync", "policystatus"}
)

// costliest prints the kinds of request that took longest in all, per fence.
func costliest(w io.Writer, calls []call, fences, most int) error {
	took, n := map[asked]time.Duration{}, map[asked]int{}
	for _, c := range calls {
		if !ofBeside(c) {
			took[c.asked] += c.end.Sub(c.start)
			n[c.asked]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(took), func(a, b asked) int {
		return cmp.Or(cmp.Compare(took[b], took[a]), strings.Compare(a.function+a.verb+a.resource, b.function+b.verb+b.resource))
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range kinds[:min(most, len(kinds))] {
		fmt.Fprintf(t, "  %s ms\tin %s\t%s\t%s\t%s\n", ms(took[a]/time.Duration(max(fences, 1))), share(n[a], fences), a.function, a.verb, a.resource)
	}
	return t.Flush()
}

// busy is how much of a time at least one of these requests was under way in.
func busy(calls []call, from, to time.Time) (sum time.Duration) {
	at := from
	for _, c := range calls { // in the order of their start
		begun, ended := c.start, c.end
		if begun.Before(at) {
			begun = at
		}
		if ended.After(to) {
			ended = to
		}
		if ended.After(begun) {
			sum += ended.Sub(begun)
			at = ended
		}
	}
	return sum
}

func ofBeside(c call) bool { return slices.Contains(beside, c.function) }

// timeLine prints requests and marks in the order of their start.
func timeLine(zero time.Time, calls []call, marks []mark) error {
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	for _, c := range calls {
		note := ""
		if c.phase != "" {
			note = " → " + c.phase
		}
		if c.status >= http.StatusBadRequest || c.status == 0 {
			note += fmt.Sprintf(" (%d)", c.status)
		}
		lines = append(lines, line{c.start, fmt.Sprintf("%s\t%s\t%s\t%s%s", ms(c.end.Sub(c.start)), c.function, c.verb, strings.TrimSuffix(c.resource+" "+c.object, " "), note)})
	}
	for _, m := range marks {
		lines = append(lines, line{m.at, "\t=====\t\t" + m.text})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "start\ttook\tfunction\tverb\tresource")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\n", ms(l.at.Sub(zero)), l.text)
	}
	return w.Flush()
}

// mark is a moment that is no request.
type mark struct {
	at   time.Time
	text string
}
