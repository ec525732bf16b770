//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
)

// TestDummy is about the agents' own library, by its dummy. Users can't have a driver of it, and
// this test shows why: it reports off if its file can't be read, and has no list with which that
// could be compared.
func TestDummy(t *testing.T) {
	needs(t, "fence-agents", "fence_dummy")
	m, err := find("fence_dummy", installed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(file, []byte("on"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &driver{metadata: m, params: map[string]string{"status_file": file}, address: "dummy"}
	says(t, d, device.On)
	for action, do := range map[string]func() error{
		"off": func() error { return d.Off(t.Context()) },
		"on":  func() error { return d.On(t.Context()) },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(file); string(got) != action {
			t.Errorf("after %s it is %q, %v", action, got, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if r, err := d.State(t.Context()); r != (device.Reading{}) || err == nil {
		t.Errorf("without its file: %+v, %v", r, err)
	}
	if _, err := Kind("fence_dummy", installed); err == nil {
		t.Errorf("the driver: %v", err)
	}
}
