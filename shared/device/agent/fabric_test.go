//go:build linux

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/agenttest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// newPort is a switch's port, with our agent as an agent for fabrics.
func newPort(t testing.TB, fault string) *machine {
	t.Helper()
	m := agenttest.New(t, fault)
	m.Write("metadata", fabricMetadata)
	k, err := Any("fence-ours", m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if k.Scope != device.ScopeStorage || k.NoOn != "" {
		t.Errorf("scope %q, no on %q", k.Scope, k.NoOn)
	}
	if _, err := Kind("fence-ours", m.Dir); !errors.Is(err, device.ErrFabric) {
		t.Errorf("as a device for power: %v", err)
	}
	d, err := k.Open(map[string]string{"ip": "switch.example", "plug": "7", "login": "fence", "password": password})
	if err != nil {
		t.Fatal(err)
	}
	return &machine{m, d}
}

var fabricMetadata = strings.NewReplacer(`<action name="on" automatic="0"/>`, `<action name="on" automatic="1"/>`, `<action name="reboot"/>`, ``).Replace(oursMetadata)

func TestFabricConformance(t *testing.T) {
	devicetest.Run(t, devicetest.Harness{
		Against: "agent/fabric",
		Secrets: []string{password, changed, "hunter"},
		New: func(t testing.TB, fault string) devicetest.Machine {
			m := newPort(t, fault)
			return devicetest.Machine{Driver: m.Driver, On: m.Machine.On, Commands: m.Told, SetFault: m.SetFault, Settle: m.Settle}
		},
	})
}

// TestFabricAgents checks what the installed ones declare.
func TestFabricAgents(t *testing.T) {
	const here = "it gives access back only where it runs on the machine itself; have that register its key when it boots"
	for agent, want := range map[string]struct {
		scope device.Scope
		noOn  string
		which string
	}{
		"fence_brocade":   {device.ScopeStorage, "", "plug!"},
		"fence_cisco_mds": {device.ScopeStorage, "", "plug!"},
		"fence_sanbox2":   {device.ScopeStorage, "", "plug!"},
		"fence_ifmib":     {device.ScopeNetwork, "", "plug!"},
		"fence_scsi":      {device.ScopeStorage, here, "key!"},
		"fence_mpath":     {device.ScopeStorage, here, "key!"},
	} {
		t.Run(agent, func(t *testing.T) {
			needs(t, "fence-agents", agent)
			k, err := Any(agent, installed)
			if err != nil {
				t.Fatal(err)
			}
			which := ""
			for _, p := range k.Params {
				if p.Machine {
					which += p.Name
				}
				if p.Machine && p.Required {
					which += "!"
				}
			}
			if k.Scope != want.scope || k.NoOn != want.noOn || which != want.which {
				t.Errorf("scope %q, no on %q, machine by %s", k.Scope, k.NoOn, which)
			}
			if _, err := Kind(agent, installed); !errors.Is(err, device.ErrFabric) {
				t.Errorf("as a device for power: %v", err)
			}
		})
	}
}

// TestKeyedParams: values that fence_scsi would read as another machine, or as none, are refused.
func TestKeyedParams(t *testing.T) {
	needs(t, "fence-agents", "fence_scsi")
	k, err := Any("fence_scsi", installed)
	if err != nil {
		t.Fatal(err)
	}
	const at = "parameter key of agent fence_scsi"
	const spelling = `" is not a key as disks tell it: up to 16 hexadecimal digits in small letters, without 0x and zeros before them`
	for name, tc := range map[string]struct {
		key, devices, plug string
		err                string
	}{
		"a key":                {key: "a1b20007"},
		"in capitals":          {key: "A1B20007", err: at + `: "A1B20007` + spelling},
		"with 0x":              {key: "0xa1b20007", err: at + `: "0xa1b20007` + spelling},
		"with zeros":           {key: "00a1", err: at + `: "00a1` + spelling},
		"nobody's":             {key: "0", err: at + `: "0` + spelling},
		"two":                  {key: "a1,a2", err: at + `: "a1,a2` + spelling},
		"none":                 {err: at + " is missing: it says which machine is meant"},
		"a name for Corosync":  {key: "a1", plug: "worker-7", err: "parameter plug of agent fence_scsi is refused: " + noPlug},
		"no disk":              {key: "a1", devices: "sdb", err: `parameter devices of agent fence_scsi: "sdb" is not a list of disks such as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4, separated by commas`},
		"an option for a disk": {key: "a1", devices: "/dev/sdb --help", err: `parameter devices of agent fence_scsi: "/dev/sdb --help" is not a list of disks such as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4, separated by commas`},
		"another folder":       {key: "a1", devices: "/dev/../etc/passwd", err: `parameter devices of agent fence_scsi: "/dev/../etc/passwd" is not a list of disks such as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4, separated by commas`},
		"a disk twice":         {key: "a1", devices: "/dev/sdb,/dev/sdc,/dev/sdb", err: "parameter devices of agent fence_scsi: a disk stands in it twice"},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"devices": "/dev/sdb,/dev/sdc"}
			for n, v := range map[string]string{"key": tc.key, "devices": tc.devices, "plug": tc.plug} {
				if v != "" {
					p[n] = v
				}
			}
			address, err := k.Address(p)
			text, want := "", "fence_scsi#"+tc.key
			if err != nil {
				text, want = err.Error(), ""
			}
			if d := cmp.Diff([]string{want, tc.err}, []string{address, text}); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := k.Open(map[string]string{"key": "a1"}); err == nil || err.Error() != "agent fence_scsi needs devices" {
		t.Errorf("without disks: %v", err)
	}
}

// TestKeyed uses the metadata of fence_scsi itself, and a registry of keys in a file.
func TestKeyed(t *testing.T) {
	needs(t, "fence-agents", "fence_scsi")
	m, err := find("fence_scsi", installed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("a1\nb2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := file + ".log"
	own := *m
	own.path = program(t,
		"cat >"+log+".last; cat "+log+".last >>"+log,
		"key=$(sed -n s/^key=//p "+log+".last)",
		"if grep -q ^action=status "+log+".last; then",
		"grep -qx $key "+file+" && echo Status: ON && exit",
		"echo Status: OFF; exit 2; fi",
		"grep -q ^action=off "+log+".last || exit 1",
		"grep -vx $key "+file+" >"+file+".new; mv "+file+".new "+file)
	d, err := own.open(map[string]string{"key": "a1", "devices": "/dev/sdb"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
		t.Errorf("registered: %+v, %v", r, err)
	}
	if err := d.Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys, _ := os.ReadFile(file); string(keys) != "b2\n" {
		t.Errorf("left are %q", keys)
	}
	const off = "device does not know this machine: an off that can't be told from a machine that the device never knew: fence_scsi, status of fence_scsi#a1: " +
		"it says off, as it does of every key that is not registered: a key that nobody ever had reads the same"
	if r, err := d.State(t.Context()); r != (device.Reading{}) || !errors.Is(err, device.ErrBlind) || err.Error() != off {
		t.Errorf("not registered: %+v, %v", r, err)
	}
	told, _ := os.ReadFile(log)
	if err := d.On(t.Context()); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("on: %v", err)
	}
	if after, _ := os.ReadFile(log); string(after) != string(told) {
		t.Errorf("on has run it: %q", after[len(told):])
	}
	want := "devices=/dev/sdb\nkey=a1\ndelay=0\npower_wait=0\nretry_on=0\nstonith_status_sleep=1\npower_timeout=15\naction="
	if d := cmp.Diff(want+"status\n"+want+"off\n"+want+"status\n", string(told)); d != "" {
		t.Error(d)
	}
}
