//go:build linux

package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/job"
)

// limit is what a call has in these tests.
const limit = 20 * time.Second

const image = "registry.example/agents:1"

// TestMain lets this binary be what runs in a pod: `nodefence agent`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "agent" {
		pod := os.Args[2]
		os.Exit(job.Command(job.Paths{
			Given: filepath.Join(pod, "call"), Accepted: filepath.Join(pod, "accepted"), Said: filepath.Join(pod, "said"), Agents: os.Args[3],
		}))
	}
	os.Exit(m.Run())
}

// processes are a Runner that runs each call as a process of this machine, as a
// kubelet runs it in a container. It was written by the driver's own authors.
type processes struct {
	t testing.TB
	// dir has the agents.
	dir string
	// spoil changes what the call's end looks like.
	spoil func(*job.End)
	// accepted is how long ago the node accepted the pod when it is started.
	accepted time.Duration
	// sleeps: the agent finds that folder beside itself.
	sleeps bool
}

func (p *processes) Run(ctx context.Context, c job.Call) (job.End, error) {
	dir, err := os.MkdirTemp(p.t.TempDir(), "pod")
	if err != nil {
		return job.End{}, err
	}
	c.Limit, c.Left = limit, limit
	text, err := json.Marshal(c)
	if err != nil {
		return job.End{}, err
	}
	accepted, at := filepath.Join(dir, "accepted"), time.Now().Add(-p.accepted)
	err = errors.Join(os.WriteFile(filepath.Join(dir, "call"), text, 0o600), os.Mkdir(accepted, 0o700), os.Chtimes(accepted, at, at))
	if err != nil {
		return job.End{}, err
	}
	if at := filepath.Join(p.dir, "accepted"); p.sleeps {
		if err := errors.Join(os.RemoveAll(at), os.Symlink(accepted, at)); err != nil {
			return job.End{}, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return job.End{}, err
	}
	cmd := exec.CommandContext(ctx, self, "agent", dir, p.dir)
	err = cmd.Run()
	if ctx.Err() != nil {
		return job.End{}, errors.New("its pod was not seen to end: " + ctx.Err().Error())
	}
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		return job.End{}, err
	}
	words, _ := os.ReadFile(filepath.Join(dir, "said")) // none is a way to end, too
	e := job.End{Code: cmd.ProcessState.ExitCode(), Said: string(words)}
	if p.spoil != nil {
		p.spoil(&e)
	}
	return e, nil
}

func open(t testing.TB, p *processes) device.Driver {
	t.Helper()
	inner, err := agent.Declared(agenttest.Name, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	params := agenttest.Params()
	params[job.AgentName], params[job.Image] = agenttest.Name, image
	d, err := job.Kind(inner, []string{image}, limit, p).Open(params)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		Against: "job",
		Secrets: []string{agenttest.Password, agenttest.Changed, "hunter"},
		New: func(t testing.TB, fault string) devicetest.Machine {
			m := agenttest.New(t, fault)
			return devicetest.Machine{
				Driver: open(t, &processes{t: t, dir: m.Dir}), On: m.On, Commands: m.Told, SetFault: m.SetFault, Settle: m.Settle,
			}
		},
	})
}

// TestEnds: what a pod's end means. Its exit code alone is no off: an interpreter that
// can't find the agent has the same code (S2).
func TestEnds(t *testing.T) {
	const at = ": fence_ours in a Job, status of pdu.example#7: "
	for name, tc := range map[string]struct {
		spoil    func(*job.End)
		accepted time.Duration
		want     device.Power
		err      string
	}{
		"on": {want: device.On},
		"the code of off and not a word": {spoil: func(e *job.End) { *e = job.End{Code: 2} },
			err: device.ErrUnsupported.Error() + at + "its container exits with 2 and does not answer; the image must run nodefence, see shared/device/job"},
		"the code of on and not a word": {spoil: func(e *job.End) { e.Said = "" },
			err: device.ErrUnsupported.Error() + at + "its container exits with 0 and does not answer; the image must run nodefence, see shared/device/job"},
		"the code of off, and says on": {spoil: func(e *job.End) { e.Code = 2 },
			err: device.ErrUnsupported.Error() + at + `it exits with 2, and says power "On"`},
		"says off, and the code of on": {spoil: func(e *job.End) { e.Said = strings.Replace(e.Said, "On", "Off", 1) },
			err: device.ErrUnsupported.Error() + at + `it exits with 0, and says power "Off"`},
		"another call's answer": {spoil: func(e *job.End) { *e = job.End{Code: 2, Said: `{"action":"off","power":"Off"}`} },
			err: device.ErrUnsupported.Error() + at + "its container exits with 2 and does not answer; the image must run nodefence, see shared/device/job"},
		"killed": {spoil: func(e *job.End) { *e = job.End{Code: 137} },
			err: device.ErrUnreachable.Error() + at + "its container was killed by signal 9"},
		"an error of a kind that nobody knows": {spoil: func(e *job.End) { *e = job.End{Code: 1, Said: `{"action":"status","kind":"new","error":"x"}`} },
			err: device.ErrUnsupported.Error() + at + "x"},
		"an error with a secret": {spoil: func(e *job.End) {
			text, _ := json.Marshal(map[string]string{"action": "status", "kind": "denied", "error": "not with " + agenttest.Password})
			*e = job.End{Code: 1, Said: string(text)}
		}, err: device.ErrDenied.Error() + at + "not with (redacted)"},
		"started when its time is over": {accepted: limit + time.Second,
			err: device.ErrUnreachable.Error() + at + "the pod was accepted 21"},
		"accepted in the future": {accepted: -time.Hour,
			err: device.ErrUnreachable.Error() + at + "the pod was accepted -"},
	} {
		t.Run(name, func(t *testing.T) {
			m := agenttest.New(t, devicetest.None)
			r, err := open(t, &processes{t: t, dir: m.Dir, spoil: tc.spoil, accepted: tc.accepted}).State(t.Context())
			if err != nil {
				if r != (device.Reading{}) || tc.err == "" || !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("%+v, %v\nwant %s", r, err, tc.err)
				}
				return
			}
			if d := cmp.Diff(device.Reading{Power: tc.want}, r); d != "" || tc.err != "" {
				t.Error(d, "want error", tc.err)
			}
		})
	}
}

// own is a Runner that keeps how late the device itself may be.
type own struct{ delay time.Duration }

func (o *own) Run(_ context.Context, c job.Call) (job.End, error) {
	o.delay = c.Delay
	return job.End{Said: `{"action":"off"}`}, nil
}

// TestTheDevicesOwnDelay is what is left of the longest where a pod was seen to end (S8).
func TestTheDevicesOwnDelay(t *testing.T) {
	inner, err := agent.Declared("fence_apc", "")
	if err != nil {
		t.Fatal(err)
	}
	o := &own{}
	k := job.Kind(inner, []string{image}, limit, o)
	d, err := k.Open(map[string]string{job.AgentName: "fence_apc", job.Image: image, "ip": "10.0.0.9", "plug": "7", "username": "u", "password": "p"})
	if err != nil {
		t.Fatal(err)
	}
	_ = d.Off(t.Context()) // what it makes of the end is TestEnds' matter
	if o.delay != inner.EffectDelay || k.EffectDelay != inner.EffectDelay+job.Late(limit) || o.delay == 0 {
		t.Errorf("the device's own is %s, the agent's %s, the longest %s", o.delay, inner.EffectDelay, k.EffectDelay)
	}
}

// TestLate: a call whose time was over before its container started sends nothing (S10).
func TestLate(t *testing.T) {
	m := agenttest.New(t, devicetest.None)
	d := open(t, &processes{t: t, dir: m.Dir, accepted: limit})
	for name, call := range map[string]func(context.Context) error{"off": d.Off, "on": d.On} {
		if err := call(t.Context()); !errors.Is(err, device.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if told := m.Told(); len(told) > 0 || !m.On() {
		t.Errorf("the device was told %q", told)
	}
}

// TestLateAfterASleep: the node slept after the pod had seen that its time is not over, and before it tells
// the agent to switch. That is as if the node had accepted the pod longer ago (S8).
func TestLateAfterASleep(t *testing.T) {
	m := agenttest.New(t, devicetest.None)
	m.Write(agenttest.Name, strings.Replace(agenttest.Script, "cat metadata", "touch -c -d '1 hour ago' accepted; cat metadata", 1))
	d := open(t, &processes{t: t, dir: m.Dir, sleeps: true})
	for name, call := range map[string]func(context.Context) error{"off": d.Off, "on": d.On} {
		if err := call(t.Context()); !errors.Is(err, device.ErrUnreachable) || !strings.Contains(err.Error(), device.ErrLate.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if told := m.Told(); len(told) > 0 || !m.On() {
		t.Errorf("the device was told %q", told)
	}
}

// TestOpen: what a configuration may say.
func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		agent  string
		images []string
		change map[string]string
		err    string
	}{
		"as it is":               {agent: "fence_apc", images: []string{"other", image}},
		"a BMC":                  {agent: "fence-ipmilan", images: []string{image}, change: map[string]string{"plug": ""}},
		"no image is allowed":    {agent: "fence_apc", err: "job_image is refused: no image is allowed here; set NODEFENCE_JOB_IMAGES of the functions to those that may be handed the devices' credentials"},
		"another image":          {agent: "fence_apc", images: []string{"other"}, err: `job_image "` + image + `" is none of those that NODEFENCE_JOB_IMAGES allows: other`},
		"no image":               {agent: "fence_apc", images: []string{"", "other"}, change: map[string]string{"job_image": ""}, err: `job_image "" is none of those that NODEFENCE_JOB_IMAGES allows: , other`},
		"no outlet":              {agent: "fence_apc", images: []string{image}, change: map[string]string{"plug": ""}, err: "parameter plug of agent fence_apc is missing: it says which machine is meant"},
		"a program":              {agent: "fence_apc", images: []string{image}, change: map[string]string{"telnet_path": "/bin/sh"}, err: "parameter telnet_path of agent fence_apc is refused: it names a program or a command, and nodefence runs no programs that a configuration names"},
		"a line break":           {agent: "fence_apc", images: []string{image}, change: map[string]string{"username": "a\naction=reboot"}, err: "parameter username of agent fence_apc: the value has a line break or another control character"},
		"an agent that is unfit": {agent: "fence_virsh", err: "agent fence_virsh is refused: it calls a machine off that is still shutting down, and one whose state it does not understand"},
		"one that nobody knows":  {agent: "fence_acme", err: "agent fence_acme is not known here: install it beside the functions as well, so that its parameters can be read (NODEFENCE_AGENTS_DIR)"},
		"a path":                 {agent: "../fence_apc", err: `"../fence_apc" is not the name of a fence agent, such as fence_apc`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := opened(tc.agent, tc.images, tc.change); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(tc.err, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func opened(name string, images []string, change map[string]string) error {
	inner, err := agent.Declared(name, "")
	if err != nil {
		return err
	}
	p := map[string]string{"ip": "10.0.0.9", "plug": "7", "username": "fence", "password": "hunter-2", job.AgentName: name, job.Image: image}
	for k, v := range change {
		p[k] = v
		if v == "" {
			delete(p, k)
		}
	}
	k := job.Kind(inner, images, limit, nil)
	if k.Name != "job" || k.EffectDelay != inner.EffectDelay+job.Late(limit) {
		return fmt.Errorf("kind %s, effect delay %s", k.Name, k.EffectDelay)
	}
	_, err = k.Open(p)
	return err
}
