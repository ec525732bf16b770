package redfish_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
)

// TestAgent holds the test's own BMC to a client that nobody here wrote: what
// Debian's fence_redfish does with it, and what our driver then sees.
func TestAgent(t *testing.T) {
	path, err := exec.LookPath("fence_redfish")
	if err != nil {
		t.Skip("fence_redfish is missing: apt-get install fence-agents")
	}
	for name, tc := range map[string]struct {
		tasks bool
		// lines are for the agent besides those about the BMC.
		steps []step
	}{
		"status, off, status, on, status": {steps: []step{
			{"status", 0, "Status: ON", device.On},
			{"off", 0, "Success: Powered OFF", device.Off},
			{"status", 2, "Status: OFF", device.Off},
			{"off", 0, "Success: Already OFF", device.Off},
			{"on", 0, "Success: Powered ON", device.On},
			{"on", 0, "Success: Already ON", device.On},
			{"reboot", 0, "Success: Rebooted", device.On},
		}},
		"with tasks": {tasks: true, steps: []step{
			{"off", 0, "Success: Powered OFF", device.Off},
			{"on", 0, "Success: Powered ON", device.On},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t)
			s.Tasks = tc.tasks
			s.host, s.port = s.Serve(t, s.ca.Issue(t, nil, "127.0.0.1"))
			d := s.dial(t, nil)
			for _, step := range tc.steps {
				rc, out := s.agent(t, path, step.action, password, "systems_uri="+uri)
				if rc != step.rc || !strings.Contains(out, step.says) {
					t.Errorf("%s: rc %d: %s", step.action, rc, out)
				}
				if r, err := d.State(t.Context()); err != nil || r.Power != step.then {
					t.Errorf("after %s: %+v, %v", step.action, r, err)
				}
			}
		})
	}
}

// step is one of the agent's actions, what it answers, and what the driver then reads.
type step struct {
	action string
	rc     int
	says   string
	then   device.Power
}

// TestAgentAfterUs: the agent sees what our driver did, and on the same machine.
func TestAgentAfterUs(t *testing.T) {
	path, err := exec.LookPath("fence_redfish")
	if err != nil {
		t.Skip("fence_redfish is missing: apt-get install fence-agents")
	}
	s := serve(t)
	d := s.dial(t, map[string]string{"auth": "session"})
	if err := d.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, uri := range []string{"/redfish/v1/Systems/1", "/redfish/v1/Systems/2", "/redfish/v1/Systems/3"} {
		got[uri], _ = s.agent(t, path, "status", password, "systems_uri="+uri)
	}
	// Without a name the agent takes the last one of the list.
	got["none"], _ = s.agent(t, path, "status", password)
	// What a wrong password looks like to the agent: it may not hide as on or off.
	got["wrong password"], _ = s.agent(t, path, "status", changed, "systems_uri="+uri)
	want := map[string]int{
		"/redfish/v1/Systems/1": 2, "/redfish/v1/Systems/2": 0, "/redfish/v1/Systems/3": 0, "none": 0, "wrong password": 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{redfishtest.Off, redfishtest.On}, []string{s.PowerOf("1"), s.PowerOf("2")}); d != "" {
		t.Error(d)
	}
}

// agent runs one action with the BMC's certificate verified, and its parameters
// on standard input.
func (s *served) agent(t *testing.T, path, action, password string, more ...string) (int, string) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(s.ca.PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := append([]string{
		"action=" + action, "ip=" + s.host, "ipport=" + s.port, "username=" + user, "password=" + password, "ssl_secure=1",
		"power_wait=0", "stonith_status_sleep=1", "power_timeout=10",
	}, more...)
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = append(os.Environ(), "REQUESTS_CA_BUNDLE="+ca)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}
