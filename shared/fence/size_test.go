package fence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARecordStaysSmall: with all of its histories full it is well under what etcd takes
// for one object, however much a device, a node and the policies have to say.
func TestARecordStaysSmall(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		for i := range 200 {
			at := observed.StampOf(now.Add(time.Duration(i-400) * time.Minute))
			f.Status.Past = append(f.Status.Past, api.PastFence{FenceNumber: int64(i + 1), OpenedAt: at, ClosedAt: at, Outcome: api.Recovered, Cuts: 1,
				AskedBy: []api.PastAskedBy{{ID: string(types.UID(strings.Repeat("u", 36))), Source: strings.Repeat("s", 64)}}})
		}
		for i := range api.MaxAskedBy {
			f.Status.Decision.AskedBy = append(f.Status.Decision.AskedBy, api.AskedBy{ID: fmt.Sprint(i), Source: strings.Repeat("s", 64), Type: "io.nodefence.request.fence.v1", Reason: strings.Repeat("r", 256)})
		}
		f.Status.FenceNumber, f.Status.Phase, f.Status.Outcome = 201, api.Finished, api.Recovered
	})
	st := fence.Opening(f, f.Status.Decision, now)
	d := fence.CoreOf(&st.Decision, st, s, now)
	for i := range 200 {
		d.Tell(api.DeviceFailed, fmt.Sprint(i, errors.New(strings.Repeat("e", 4096))))
	}
	d.Describe()
	f.Status = *d.Status()
	for _, w := range fencetest.TooBig(t, d.Status()) {
		t.Error(w)
	}
	text, err := json.Marshal(f)
	if err != nil || len(text) > 256<<10 || len(f.Status.History) != facts.MaxHistory || len(f.Status.Past) != facts.MostPast {
		t.Errorf("%d bytes, %d sentences, %d fences before: %v", len(text), len(f.Status.History), len(f.Status.Past), err)
	}
	if got := d.RecentCuts(); got < 100 {
		t.Errorf("%d cuts of a day are remembered: a policy may allow 100", got)
	}
}

// TestTheNewestFenceIsRemembered, also where all before it count still: when it ended says
// which requests were about it (S18).
func TestTheNewestFenceIsRemembered(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	d := fence.CoreOf(nil, api.NodeFenceStatus{}, observed.Look{}, now)
	var past []api.PastFence
	for i := range facts.MaxPast + 2 {
		past = append(past, api.PastFence{FenceNumber: int64(i + 1), ClosedAt: observed.StampOf(now.Add(-time.Hour)), Cuts: 1})
	}
	past[len(past)-1].Cuts = 0
	if got := d.Kept(past); got[len(got)-1].FenceNumber != facts.MaxPast+2 {
		t.Errorf("the newest that is kept is fence %d of %d", got[len(got)-1].FenceNumber, facts.MaxPast+2)
	}
}
