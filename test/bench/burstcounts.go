package main

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ledgerWrites counts the gates' compare-and-swaps of the ledger.
type ledgerWrites struct {
	mu             sync.Mutex
	all, conflicts int
	each           []ledgerWrite
}

// ledgerWrite is one write of the ledger, by a function or by the source.
type ledgerWrite struct {
	at     time.Time
	by     string
	status int
}

func (c *ledgerWrites) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/fenceledgers/") && err == nil {
			c.mu.Lock()
			c.all++
			c.each = append(c.each, ledgerWrite{time.Now(), kindOf(r).function, resp.StatusCode})
			if resp.StatusCode == http.StatusConflict {
				c.conflicts++
			}
			c.mu.Unlock()
		}
		return resp, err
	})
}

// take gives what was written, and begins anew.
func (c *ledgerWrites) take() (all, conflicts int, each []ledgerWrite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, conflicts, each = c.all, c.conflicts, c.each
	c.all, c.conflicts, c.each = 0, 0, nil
	return all, conflicts, each
}

// failures counts the deliveries that a log tells of as failed.
type failures struct {
	mu sync.Mutex
	n  int
}

func (f *failures) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += bytes.Count(line, []byte(`"msg":"delivery failed; it will be repeated"`))
	return len(line), nil
}

func (f *failures) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}
