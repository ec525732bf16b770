package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// slots is how many nodes may be fenced at once while eight of twenty have failed. They are fewer than
// half, because otherwise nodefence would rightly conclude that it is cut off itself.
const slots = 3

const burstPolicy = `
power: {offTimeout: 15s, attempts: 5, retryInterval: 1s}
release: {timeout: 2m}
recovery: {bootTimeout: 3m, readyDuration: 0s}
limits: {maxUnhealthy: "70%%", maxConcurrent: %d, stormCoolDown: 0s}
`

// TestTheLeaderDiesInABurst kills the process whose source leads while eight nodes are being
// fenced, three at a time. Its census grows old, and nobody sends what it had still to send.
// Another process goes on: each machine is told one off and one on, and at no time do more than
// three hold a slot (S14: the limits hold).
func TestTheLeaderDiesInABurst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	defer cancel()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("burst-%d", os.Getpid()), Nodes: 20})
	must(t, c.Furnish(ctx, fmt.Sprintf(burstPolicy, slots)))
	log := &rig.Log{}
	defer func() { c.Tell(t, log) }()
	leader, err := c.StartProcess(ctx, t.TempDir(), log)
	must(t, err)
	defer func() { leader.Stop() }()
	other, err := c.StartProcess(ctx, t.TempDir(), log)
	must(t, err)
	defer func() { other.Stop() }()

	var failed []string
	for i := range 8 {
		failed = append(failed, fmt.Sprintf("node-%d", i))
	}
	must(t, c.Lab.AtOnce(failed, "crash"))
	lease, err := c.Kube.CoordinationV1().Leases("nodefence-system").Get(ctx, "nodefence-source", metav1.GetOptions{})
	must(t, err)
	if by := lease.Spec.HolderIdentity; by == nil || !strings.HasSuffix(*by, fmt.Sprintf("-%d", leader.PID())) {
		t.Fatalf("process %d was to lead, and the Lease has %v", leader.PID(), by)
	}
	must(t, rig.Until(ctx, "two machines to be off", func() (bool, error) {
		off := 0
		for _, node := range failed {
			words, err := c.Lab.Words(node)
			if err != nil {
				return false, err
			}
			if words != "" {
				off++
			}
		}
		return off >= 2, nil
	}))
	leader.Kill()
	var held []span
	for _, node := range failed {
		f, err := c.Phase(ctx, node, api.Finished)
		must(t, err)
		if words, err := c.Lab.Words(node); err != nil || words != "off on" {
			t.Errorf("the BMC of %s was told %q (%v)\n%s", node, words, err, rig.Story(f))
		}
		held = append(held, slotOf(t, f))
	}
	if n := mostAtOnce(held); n > slots {
		t.Errorf("%d fences held a slot at once, %d are allowed", n, slots)
	}
	if _, err := c.Lab.OneWriter(); err != nil {
		t.Error(err)
	}
}

// span is from when until when a fence held its slot.
type span struct{ from, to time.Time }

// slotOf reads in a fence's history when it got the slot with which it cut the power, and when its
// pods were released.
func slotOf(t *testing.T, f *api.NodeFence) (s span) {
	t.Helper()
	for _, h := range f.Status.History {
		switch {
		case h.Phase == api.Pending && s.to.IsZero():
			s.from = time.Time{} // it gave the slot back
		case h.Reason == api.Admitted && s.from.IsZero():
			s.from = h.At.Time
		case h.Phase == api.PoweringOn && s.to.IsZero():
			s.to = h.At.Time
		}
	}
	if s.from.IsZero() || s.to.IsZero() {
		t.Errorf("%s: nothing was admitted and released\n%s", f.Name, rig.Story(f))
	}
	return s
}

// mostAtOnce is how many spans have a time in common, at most.
func mostAtOnce(spans []span) (most int) {
	for _, at := range spans {
		n := 0
		for _, s := range spans {
			if !at.from.Before(s.from) && at.from.Before(s.to) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestMostAtOnce(t *testing.T) {
	at := func(from, to int) span { return span{time.Unix(int64(from), 0), time.Unix(int64(to), 0)} }
	for want, spans := range map[int][]span{
		0: nil,
		1: {at(1, 2), at(2, 3)},
		2: {at(1, 3), at(2, 4), at(3, 5)},
		3: {at(1, 9), at(2, 3), at(2, 4), at(5, 6)},
	} {
		if got := mostAtOnce(spans); got != want {
			t.Errorf("%v: %d, want %d", spans, got, want)
		}
	}
}
