package agent

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
)

// FuzzMetadata reads what an agent prints about itself.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(oursMetadata))
	f.Add([]byte("warning: old library\n" + oursMetadata))
	f.Add([]byte(oursMetadata[:len(oursMetadata)/2]))
	f.Add([]byte(`<resource-agent><parameters><parameter name="a-b" obsoletes="a_b, c"/><parameter name="a_b"/></parameters></resource-agent>`))
	f.Add([]byte(`<resource-agent/>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parse("fence_ours", "/usr/sbin/fence_ours", text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, p := range m.params {
			if p.name == "" || strings.Contains(p.name, "-") || seen[p.name] || m.older[p.name] != "" {
				t.Errorf("parameter %q of %q stands twice, has no name, or is an older name too", p.name, text)
			}
			seen[p.name] = true
		}
	})
}

// FuzzStatus reads what an agent prints and exits with. Only exit code 2, together with a line that
// says so, is off (S2: an interpreter that can't find its agent exits with 2 too).
func FuzzStatus(f *testing.F) {
	for _, out := range []string{"Status: ON\n", "Status: OFF\n", "warning\nstatus: off", "Status OFF", "Status: OFFLINE", "not Status: OFF", "", "can't open file"} {
		for code := range 3 {
			f.Add(code, []byte(out))
		}
	}
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		power, told := readStatus(code, out)
		says := false
		for line := range bytes.Lines(bytes.ToLower(out)) {
			says = says || bytes.HasPrefix(line, []byte("status")) && bytes.Contains(line, []byte("off"))
		}
		if power == device.Off && (code != 2 || !says) || power == device.On && code != 0 || !told && power != device.Unknown {
			t.Errorf("exit code %d with %q is read as %q, told %t", code, out, power, told)
		}
	})
}
