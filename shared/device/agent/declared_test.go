//go:build linux

package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// TestDeclared: for each agent the list has what its metadata has: its parameters, or that it is
// refused.
func TestDeclared(t *testing.T) {
	needs(t, "fence-agents", "fence_apc")
	all, err := filepath.Glob(installed + "/fence_*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		name := filepath.Base(path)
		want, err := Kind(name, installed)
		got, gotErr := Declared(strings.ReplaceAll(name, "_", "-"), "")
		if err != nil && strings.Contains(err.Error(), " is refused: ") {
			if devicetest.Words(gotErr) != err.Error() {
				t.Errorf("%s: %v\nwant %v", name, gotErr, err)
			}
			continue
		}
		if err != nil || gotErr != nil {
			t.Errorf("%s: %v, %v", name, err, gotErr)
			continue
		}
		if d := cmp.Diff(want.Params, got.Params, cmpopts.IgnoreFields(device.Param{}, "Doc")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestDeclaredAddress: a machine has the same address, whether its agent is known by metadata or
// by the list.
func TestDeclaredAddress(t *testing.T) {
	needs(t, "fence-agents", "fence_apc", "fence_ipmilan", "fence_apc_snmp")
	for name, params := range map[string]map[string]string{
		"fence_ipmilan":  {"ip": "BMC-7.example"},
		"fence_apc":      {"ip": "10.0.0.9", "plug": "07"},
		"fence_apc_snmp": {"ip": "10.0.0.9", "plug": "7"},
	} {
		real, err := Kind(name, installed)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := Declared(name, "")
		if err != nil {
			t.Fatal(err)
		}
		want, err := real.Address(params)
		got, gotErr := listed.Address(params)
		if want != got || err != nil || gotErr != nil {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, gotErr, want, err)
		}
	}
}

// TestDeclaredDenies parameters that an agent would take, as for an installed agent.
func TestDeclaredDenies(t *testing.T) {
	k, err := Declared("fence_apc", "")
	if err != nil {
		t.Fatal(err)
	}
	const is = "parameter %s of agent fence_apc is refused: "
	for param, want := range map[string]string{
		"telnet-path": runs, "debug_file": shows, "identity_file": deniedNames["identity_file"], "method": deniedNames["method"],
	} {
		if got := k.Denied(param); got != strings.Replace(is, "%s", param, 1)+want {
			t.Errorf("%s: %q", param, got)
		}
	}
	for _, param := range []string{"delay", "plug", "nobody"} {
		if got := k.Denied(param); got != "" {
			t.Errorf("%s: %q", param, got)
		}
	}
}
