package devicetest

import (
	"testing"

	"github.com/nodefence/nodefence/shared/device"
)

// ReadGarbled reads a machine whose device answers with bytes that a fuzzer chose. A driver must not
// panic, must not answer with a reading and an error at once, and must not read off (S2: guards are
// "saw X") unless tellsOff finds in the bytes, by a reader of its own, that the answer says so.
func ReadGarbled(t *testing.T, d device.Driver, body []byte, tellsOff bool) {
	t.Helper()
	got, err := d.State(t.Context()) // without a deadline, a machine on its way off is read once
	switch {
	case err != nil && got != device.Reading{}:
		t.Errorf("the answer %q is read as %+v, and as the error %v", body, got, err)
	case got.Power == device.Off && !tellsOff:
		t.Errorf("the answer %q is read as off", body)
	}
}
