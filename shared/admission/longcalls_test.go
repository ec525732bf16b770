package admission_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestASlotOutlastsTheYesBehindIt, by the calls for which it was reserved, however the gate that
// counts it is set (S14).
func TestASlotOutlastsTheYesBehindIt(t *testing.T) {
	minute := &metav1.Duration{Duration: time.Minute}
	for name, c := range map[string]struct {
		call *metav1.Duration
		age  time.Duration
		want api.Reason
	}{
		"usual calls, within it":  {nil, 65 * time.Second, api.TooManyConcurrent},
		"usual calls, after it":   {nil, 66 * time.Second, ""},
		"longer calls, within it": {minute, 105 * time.Second, api.TooManyConcurrent},
		"longer calls, after it":  {minute, 106 * time.Second, ""},
		"the longest, within it":  {&metav1.Duration{Duration: api.LongestDeviceCall}, 165 * time.Second, api.TooManyConcurrent},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		cl.Fences = append(cl.Fences, fencetest.Running("n1", "f1", api.Pending))
		l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-c.age)), CountedBy: []api.CountedBy{{Policy: "p"}}, DeviceCallTimeout: c.call}}
		if v := admission.Admit(f, cl, l, fencetest.Start); fencetest.ReasonOf(v) != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestASlotSaysWhatItsCallsTake where that is longer than usual, and is as ever where it is not.
func TestASlotSaysWhatItsCallsTake(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{0: 0, time.Second: 0, api.DeviceCall: 0, api.DeviceCall + time.Second: api.DeviceCall + time.Second, time.Minute: time.Minute} {
		f, cl, l := fencetest.World(fencetest.Start)
		f.Status.Decision.DeviceCallTimeout.Duration = limit
		if v := admission.Admit(f, cl, l, fencetest.Start); v != nil {
			t.Fatalf("%s: %+v", limit, v)
		}
		if got := admission.ReservedCall(l, f); got != want {
			t.Errorf("%s: its slot says %s, want %s", limit, got, want)
		}
		raw, err := json.Marshal(l.Status.Reservations)
		if err != nil {
			t.Fatal(err)
		}
		var fields []map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		if _, told := fields[0]["deviceCallTimeout"]; told != (want > 0) {
			t.Errorf("%s: the ledger has %s", limit, raw)
		}
	}
}

// TestASlotThatIsPutBackSaysItToo: a lost ledger is made anew of the records.
func TestASlotThatIsPutBackSaysItToo(t *testing.T) {
	f, cl, l := fencetest.World(fencetest.Start)
	running := fencetest.Running("n1", "f1", api.Fencing)
	running.Status.Decision.DeviceCallTimeout.Duration = time.Minute
	cl.Fences = append(cl.Fences, running)
	if v := admission.Admit(f, cl, l, fencetest.Start); fencetest.ReasonOf(v) != api.TooManyConcurrent {
		t.Errorf("beside one that runs: %+v", v)
	}
	if got := admission.ReservedCall(l, &running); got != time.Minute {
		t.Errorf("its slot says %s", got)
	}
}
