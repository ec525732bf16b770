package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/test/lab/labdir"
)

// result is the part of a command that a script sees.
type result struct {
	code           int
	stdout, stderr string
}

func runCLI(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), args, testHost, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// privateRoot gives the test labs of its own. t.TempDir contains the test's name, which makes
// paths too long for sockets.
func privateRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	t.Setenv("XDG_RUNTIME_DIR", root)
	return root
}

// serveMachines simulates the machines of lab "default" with fixed answers, and keeps the
// requests.
func serveMachines(t *testing.T, answers map[string]string) *questions {
	t.Helper()
	privateRoot(t)
	dir, _, err := labdir.Claim(t.Context(), "default", func(labdir.Dir) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	asked := new(questions)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := r.Method + " " + r.URL.Path
		asked.add(strings.TrimSpace(request + " " + string(body)))
		answer, ok := answers[request]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"error":"no such node"}`
		}
		_, _ = io.WriteString(w, answer)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return asked
}

// questions are the requests to the machines, some of them at the same time.
type questions struct {
	mu  sync.Mutex
	all []string
}

func (q *questions) add(request string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, request)
}

func (q *questions) sorted() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(slices.Values(q.all))
}

const (
	clean   = `{"records":[{"volume":"v","machine":"m","node":"node-1","pod":"p","from":"2026-01-01T00:00:00Z","to":null}],"overlaps":[]}`
	overlap = `{"records":[],"overlaps":[{"volume":"v"}]}`
	logged  = `[{"time":"2026-01-01T00:00:00Z","command":"off","accepted":true},{"time":"2026-01-01T00:00:01Z","command":"on","accepted":false}]`
)

func TestCommandsToMachines(t *testing.T) {
	for name, tc := range map[string]struct {
		answers map[string]string
		args    []string
		asked   []string
		code    int
		stdout  string
		stderr  string
	}{
		"power goes": {
			answers: map[string]string{"POST /v1/nodes/node-1/power-loss": "{}"},
			args:    []string{"node", "node-1", "power-loss"},
			asked:   []string{"POST /v1/nodes/node-1/power-loss"},
		},
		"two at once, of which one is unknown": {
			answers: map[string]string{"POST /v1/nodes/node-1/crash": "{}"},
			args:    []string{"node", "node-1,node-9", "crash"},
			asked:   []string{"POST /v1/nodes/node-1/crash", "POST /v1/nodes/node-9/crash"},
			code:    exitFail,
			stderr:  "no such node",
		},
		"an unknown node": {
			args:   []string{"node", "node-9", "crash"},
			asked:  []string{"POST /v1/nodes/node-9/crash"},
			code:   exitFail,
			stderr: "no such node",
		},
		"an unknown verb never leaves": {
			args:   []string{"node", "node-1", "reboot"},
			code:   exitFail,
			stderr: "use one of crash",
		},
		"a fault": {
			answers: map[string]string{"POST /v1/bmc/node-1/fault": ""},
			args:    []string{"bmc", "node-1", "fault", "slow=6s"},
			asked:   []string{`POST /v1/bmc/node-1/fault {"fault":"slow=6s"}`},
		},
		"a fault without one": {
			args:   []string{"bmc", "node-1", "fault"},
			code:   exitFail,
			stderr: "bmc node-1 fault FAULT",
		},
		"a log": {
			answers: map[string]string{"GET /v1/bmc/node-1/log": logged},
			args:    []string{"bmc", "node-1", "log"},
			asked:   []string{"GET /v1/bmc/node-1/log"},
			stdout:  "2026-01-01T00:00:01Z  on   refused",
		},
		"one writer at a time": {
			answers: map[string]string{"GET /v1/writers": clean},
			args:    []string{"writers"},
			asked:   []string{"GET /v1/writers"},
			stdout:  "no volume ever had two writers",
		},
		"two writers": {
			answers: map[string]string{"GET /v1/writers": overlap},
			args:    []string{"writers"},
			asked:   []string{"GET /v1/writers"},
			code:    exitBad,
			stdout:  "VOLUMES WITH TWO WRITERS: 1\n{\"volume\":\"v\"}",
		},
		"a misspelt format": {
			args:   []string{"writers", "-o", "yaml"},
			code:   exitFail,
			stderr: "the only format is json",
		},
		"no such lab": {
			args:   []string{"writers", "--name", "other"},
			code:   exitFail,
			stderr: `no such lab: "other"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := serveMachines(t, tc.answers)
			got := runCLI(t, tc.args...)
			if got.code != tc.code || !strings.Contains(got.stdout, tc.stdout) || !strings.Contains(got.stderr, tc.stderr) {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff(tc.asked, asked.sorted()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWritersAsJSONSayNoLessThanTheMachines(t *testing.T) {
	serveMachines(t, map[string]string{"GET /v1/writers": clean})
	var got, want any
	if err := json.Unmarshal([]byte(runCLI(t, "writers", "-o", "json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(clean), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBindings(t *testing.T) {
	serveMachines(t, map[string]string{"GET /v1/status": `{"nodes":[{"name":"node-1","bmc":"127.0.0.1:6230","username":"u","password":"a\"b"}]}`})
	want := `---
apiVersion: v1
kind: ConfigMap
metadata: {name: fence-config-node-node-1, namespace: nodefence-system}
data:
  config.properties: |
    node_name=node-1
    power_management=bmc
  fence-method-bmc: |
    agent_name=fence-ipmilan
    ip=127.0.0.1
    ipport=6230
    username=u
    secret=bmc-node-1
---
apiVersion: v1
kind: Secret
metadata: {name: bmc-node-1, namespace: nodefence-devices, annotations: {nodefence.io/hosts: 127.0.0.1}}
stringData: {password: "a\"b"}
`
	got := runCLI(t, "bindings")
	if diff := cmp.Diff(result{exitFine, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, cmd := range newRoot(testHost).Commands() {
		t.Run(cmd.Name(), func(t *testing.T) {
			if got := runCLI(t, cmd.Name(), "--help"); got.code != exitFine || !strings.Contains(got.stdout, "Usage:") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestUpRefusesBeforeItStartsAnything(t *testing.T) {
	root := privateRoot(t)
	for name, tc := range map[string]struct {
		args   []string
		stderr string
	}{
		"a bad name":         {[]string{"up", "--name", "../x"}, "bad name"},
		"a grace too short":  {[]string{"up", "--grace", "1s"}, "bad grace"},
		"an argument":        {[]string{"up", "demo"}, "unknown command"},
		"a misspelt command": {[]string{"pu"}, "unknown command \"pu\" for \"nodefence-lab\"\n\nDid you mean this?\n\tup\n\nsee --help"},
		"another's command":  {[]string{"frobnicate"}, "unknown command \"frobnicate\" for \"nodefence-lab\"\nsee --help"},
		"a misspelt flag":    {[]string{"up", "--node", "3"}, "unknown flag: --node\nsee --help"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCLI(t, tc.args...)
			if got.code != exitFail || got.stdout != "" || !strings.Contains(got.stderr, tc.stderr) {
				t.Errorf("got %+v", got)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*", "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
