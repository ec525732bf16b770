//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSweep(t *testing.T) {
	all, _ := filepath.Glob("/usr/sbin/fence_*")
	for _, path := range all {
		k, err := Kind(filepath.Base(path), filepath.Dir(path))
		if err != nil {
			t.Log(err)
			continue
		}
		var names []string
		for _, p := range k.Params {
			n := p.Name
			if p.Required {
				n += "!"
			}
			if p.Secret {
				n += "$"
			}
			if p.Machine {
				n += "@"
			}
			names = append(names, n)
		}
		t.Log(k.Name, names)
	}
	_ = os.Getpid
}
