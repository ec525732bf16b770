package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nodefence/nodefence/test/rig"
)

// TestIdleSettings: what makes no sense is refused as a whole, before a lab is built.
func TestIdleSettings(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"none":          {nil, "[20 500] 1m0s 0s 0s 0s"},
		"all":           {[]string{"IDLE=1 5000", "IDLE_FOR=10s", "IDLE_LEASE=24s", "IDLE_CHECKS=10m", "IDLE_REST=5s"}, "[1 5000] 10s 24s 10m0s 5s"},
		"too many":      {[]string{"IDLE=20 9000"}, "IDLE has 9000: write numbers from 1 to 5000"},
		"too short":     {[]string{"IDLE_FOR=1s"}, `IDLE_FOR has "1s": write a time from 10s to 30m0s, such as 1m0s`},
		"a slow Lease":  {[]string{"IDLE_LEASE=40s"}, `IDLE_LEASE has "40s": write a time from 1s to 25s, such as 10s`},
		"checks before": {[]string{"IDLE_CHECKS=-1s"}, `IDLE_CHECKS has "-1s": write a time from 0s to 24h0m0s, such as 0s`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := idleOf(settings(c.set...))
			got := fmt.Sprint(s.sizes, s.length, s.lease, s.checks, s.rest)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
	if got := fmt.Sprint(idleSettings{}.restAt(500), idleSettings{checks: time.Minute}.restAt(500), idleSettings{rest: 1}.restAt(500)); got != "20s 4m30s 1ns" {
		t.Error(got)
	}
}

// TestUsage reads /proc, also of a program whose name looks like the fields behind it.
func TestUsage(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t    1024 kB\n"
	u, err := usedBy("7 (a) S 1 2) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0\n", status)
	if want := (used{3 * time.Second, 1 << 20, 2 << 20}); err != nil || u != want {
		t.Errorf("%+v, %v; want %+v", u, err, want)
	}
	for _, bad := range [][2]string{{"7 (a) S 1", status}, {"7 (a) S 1 2 3 4 5 6 7 8 9 10 x 50", status}, {"7 (a) S 1 2 3 4 5 6 7 8 9 10 1 50", "VmRSS: much\n"}, {"7 (a) S 1 2 3 4 5 6 7 8 9 10 1 50", ""}} {
		if u, err := usedBy(bad[0], bad[1]); err == nil {
			t.Errorf("%q: %+v", bad, u)
		}
	}
	if u, err := usage(os.Getpid()); err != nil || u.resident == 0 || u.most < u.resident {
		t.Errorf("this process: %+v, %v", u, err)
	}
}

// TestBetween: what is asked through it comes to the API server as it was, and is kept.
func TestBetween(t *testing.T) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.URL, " ", r.UserAgent())
	}))
	defer far.Close()
	calls := &trace{}
	c, end, err := between(&rig.Cluster{Lab: &rig.Lab{Name: "x", Kubeconfig: "its own"}, Config: &rest.Config{Host: far.URL}}, calls, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	config, err := clientcmd.BuildConfigFromFlags("", c.Lab.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = "nodefence/gate"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(config.Host + "/api/v1/nodes/a?x=1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || string(text) != "GET /api/v1/nodes/a?x=1 nodefence/gate" || resp.ProtoMajor != 2 {
		t.Errorf("%q over HTTP/%d, %v", text, resp.ProtoMajor, err)
	}
	end() // waits for what is under way
	all := calls.between(time.Time{}, time.Now())
	if len(all) != 1 || all[0].asked != (asked{"gate", "GET", "nodes"}) {
		t.Errorf("%+v", all)
	}
}
