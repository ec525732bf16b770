package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLedgerWrites: what others are asked, or the ledger by other verbs, is not counted.
func TestLedgerWrites(t *testing.T) {
	var c ledgerWrites
	code := 0
	rt := c.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: http.NoBody}, nil
	}))
	for _, ask := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPut, "fenceledgers/cluster/status", http.StatusOK}, {http.MethodPut, "fenceledgers/cluster/status", http.StatusConflict},
		{http.MethodPatch, "fenceledgers/cluster/status", http.StatusOK}, {http.MethodPut, "nodefences/a/status", http.StatusConflict},
	} {
		r, err := http.NewRequest(ask.method, "http://x/apis/nodefence.io/v1alpha1/"+ask.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		code = ask.code
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	all, conflicts := c.take()
	if got := fmt.Sprint(all, conflicts); got != "2 1" {
		t.Error(got)
	}
}

// TestFailures counts what the broker says of a delivery that failed, in its own words.
func TestFailures(t *testing.T) {
	broker, err := os.ReadFile("../../infra/local/broker/deliver.go")
	if err != nil {
		t.Fatal(err)
	}
	var f failures
	log := slog.New(slog.NewJSONHandler(&f, nil))
	for _, m := range regexp.MustCompile(`Warn\("([^"]+)", "try"`).FindAllStringSubmatch(string(broker), -1) {
		log.Warn(m[1])
	}
	log.Warn(strings.ToUpper("delivery"))
	if f.count() != 1 {
		t.Errorf("%d failures", f.count())
	}
}
