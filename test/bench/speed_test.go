package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

func settings(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if key, value, _ := strings.Cut(p, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

// TestSpeedSettings: what makes no sense is refused as a whole, before a lab is built.
func TestSpeedSettings(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"none":            {nil, "[20 500 1500] 20 0s 10m0s false"},
		"all":             {[]string{"SPEED=20", "SPEED_FENCES=3", "SPEED_LEASE=2s", "SPEED_CHECKS=0", "SPEED_TRACE=1"}, "[20] 3 2s 0s true"},
		"no number":       {[]string{"SPEED=20 many"}, `SPEED has "many": write whole numbers from 8 to 5000, with blanks between them`},
		"too small":       {[]string{"SPEED=20 3"}, "SPEED has 3: write numbers from 8 to 5000"},
		"twice":           {[]string{"SPEED=20 20"}, "SPEED has 20 twice: write each number once"},
		"empty":           {[]string{"SPEED= "}, "SPEED is empty: write whole numbers from 8 to 5000, or leave it out"},
		"no fences":       {[]string{"SPEED_FENCES=0"}, "SPEED_FENCES has 0: write numbers from 1 to 500"},
		"two numbers":     {[]string{"SPEED_FENCES=1 2"}, "SPEED_FENCES has 2 numbers: write one"},
		"a slow Lease":    {[]string{"SPEED_LEASE=1m"}, `SPEED_LEASE has "1m": write a time from 1s to 25s, such as 10s`},
		"no time":         {[]string{"SPEED_LEASE=10"}, `SPEED_LEASE has "10": write a time from 1s to 25s, such as 10s`},
		"trace of a kind": {[]string{"SPEED_TRACE=yes"}, `SPEED_TRACE has "yes": write 1 for a time line, or leave it out`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := speedOf(settings(c.set...))
			got := fmt.Sprint(s.sizes, s.fences, s.lease, s.checks, s.trace)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTogether: never do most of the Leases stand still, which nodefence takes for its own fault.
func TestTogether(t *testing.T) {
	for _, n := range []int{8, 9, 10, 14, 20, 24, 25, 49, 500, 5000} {
		if silent := together(n) * len(speedDevices); 2*silent > n {
			t.Errorf("%d of %d nodes", silent, n)
		}
	}
}

// TestQuantiles are nearest ranks, whatever the order.
func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := 20; i > 0; i-- {
		d = append(d, time.Duration(i)*time.Millisecond)
	}
	for want, got := range map[string]string{
		"n 20, p50 10.0 ms, p95 19.0 ms, max 20.0 ms": quantiles(d),
		"n 1, p50 20.0 ms, p95 20.0 ms, max 20.0 ms":  quantiles(d[:1]),
		"n 0":                                   quantiles(nil),
		"p50 2.5, p95 4.8, max 5.0 round trips": roundTrips(d, 4*time.Millisecond),
		"no round trip was measured":            roundTrips(d, 0),
		"14 of 20":                              under(d, 15*time.Millisecond),
		"0 of 0":                                under(nil, time.Second),
		"10ms 19ms 20ms 1ms 0s":                 fmt.Sprint(quantile(d, .5), quantile(d, .95), quantile(d, 1), quantile(d, 0), quantile(nil, .5)),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if d[0] != 20*time.Millisecond {
		t.Error("they were sorted in place")
	}
}

// TestOfEarly: the fences whose Lease moved after Ready=True, and no later than a time.
func TestOfEarly(t *testing.T) {
	zero := time.Now()
	took := func(ms int, early bool, apart time.Duration) speedFence {
		return speedFence{ready: zero, closed: zero.Add(time.Duration(ms) * time.Millisecond), early: early, apart: apart}
	}
	all := []speedFence{took(1, false, 0), took(2, true, leaseSoon), took(3, true, leaseSoon+1), took(4, true, 0)}
	if got := fmt.Sprint(ofEarly(all, leaseSoon), ofEarly(all, math.MaxInt64)); got != "[2ms 4ms] [2ms 3ms 4ms]" {
		t.Error(got)
	}
}

// TestTrace: a request lasts until its answer is read; a watch is counted while it is open.
func TestTrace(t *testing.T) {
	var tr trace
	rt := tr.wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusConflict, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}))
	ask := func(method, path, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", "nodefence/gate")
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	from := time.Now()
	watch := ask(http.MethodGet, "/api/v1/nodes?watch=1", "")
	write := ask(http.MethodPut, "/apis/nodefence.io/v1alpha1/nodefences/a/status", `{"status":{"history":[{"phase":"Pending"}],"phase":"Finished"}}`)
	if n := len(tr.between(from, time.Now())); n != 0 || tr.watches["nodes"] != 1 {
		t.Errorf("%d requests have ended, %d watches are open", n, tr.watches["nodes"])
	}
	for range 2 {
		_ = write.Body.Close()
		_ = watch.Body.Close()
	}
	all := tr.between(from, time.Now())
	if len(all) != 1 || tr.watches["nodes"] != 0 {
		t.Fatalf("%+v, %d watches are open", all, tr.watches["nodes"])
	}
	c := all[0]
	if got := fmt.Sprint(c.function, " ", c.verb, " ", c.resource, " ", c.object, " ", c.status, " ", c.phase); got != "gate PUT nodefences/status a 409 Finished" || c.end.Before(c.start) {
		t.Error(got, c.start, c.end)
	}
	if n := len(tr.between(time.Now(), time.Now().Add(time.Hour))); n != 0 {
		t.Errorf("%d requests of another time", n)
	}
}

// TestBusy: requests beside each other count once, and only the part within the time.
func TestBusy(t *testing.T) {
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	calls := []call{{start: at(0), end: at(10)}, {start: at(2), end: at(5)}, {start: at(8), end: at(12)}, {start: at(20), end: at(40)}}
	if got := busy(calls, at(1), at(30)); got != 21*time.Millisecond {
		t.Error(got)
	}
}

// TestFunctionTable: each function's requests by verb, the writes apart, those beside the chain
// not among all.
func TestFunctionTable(t *testing.T) {
	var b strings.Builder
	calls := []call{{asked: asked{"gate", "GET", "nodes"}}, {asked: asked{"gate", "PUT", "nodefences/status"}}, {asked: asked{"source", "LIST", "nodes"}}}
	if err := functionTable(&b, "title", calls, 2); err != nil {
		t.Fatal(err)
	}
	want := "title\nall reads writes GET LIST POST PUT PATCH DELETE\ngate 1.0 0.5 0.5 0.5 - - 0.5 - -\n" +
		"all of these 1.0 0.5 0.5 0.5 - - 0.5 - -\nsource 0.5 0.5 - - 0.5 - - - -\n"
	var got strings.Builder
	for line := range strings.Lines(b.String()) {
		got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}

// TestCostliest: the longest first, each kind once, without those beside the chain.
func TestCostliest(t *testing.T) {
	zero := time.Now()
	took := func(function, verb string, ms int) call {
		return call{asked: asked{function, verb, "nodes"}, start: zero, end: zero.Add(time.Duration(ms) * time.Millisecond)}
	}
	var b strings.Builder
	if err := costliest(&b, []call{took("gate", "GET", 4), took("power", "GET", 6), took("gate", "GET", 4), took("source", "GET", 99), took("gate", "LIST", 1)}, 2, 2); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(b.String()), " "); got != "4.0 ms in 1.0 gate GET nodes 3.0 ms in 0.5 power GET nodes" {
		t.Error(got)
	}
}

// TestAgentLog reads what the script writes, and nothing else.
func TestAgentLog(t *testing.T) {
	all, err := agentLog("1700000000000000001 status\n1700000000000000002 off\n")
	if err != nil || len(all) != 2 || all[1].text != "off" || all[1].at.UnixNano() != 1700000000000000002 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := agentLog("yesterday off\n"); err == nil {
		t.Error("that is no line of it")
	}
}
