package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestTheSourceDiesInABurst kills the source while eight nodes are being fenced, three at a time, and
// none takes its place. Its last census has all three slots taken, and holds the others until it is
// old. From then on the gate lists the cluster for each decision: it gives the slots that are free by
// then to others, and never more than three are taken (S14: the limits hold). The test keeps the source's
// picture of the Leases young: by an old one nothing begins (S15), and how far a burst gets before that is
// a question of speed.
func TestTheSourceDiesInABurst(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	defer cancel()
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("orphan-%d", os.Getpid()), Nodes: 20})
	must(t, c.Furnish(ctx, fmt.Sprintf(strings.Replace(burstPolicy, "attempts: 5", "attempts: 100", 1), slots)))
	var failed []string
	for i := range 8 {
		failed = append(failed, fmt.Sprintf("node-%d", i))
	}
	devices := func(fault string) {
		for _, node := range failed {
			must(t, c.Lab.Fault(node, fault))
		}
	}
	devices("refuse") // so that the burst stands still until the source is dead
	seen, source := &decisions{}, &cut{}
	s := &sweep{Cluster: seen.of(c), t: t, ctx: ctx, runners: map[string]*runner{}}
	gate := s.newRunner(&cut{})
	for _, node := range failed {
		s.runners[node] = gate
	}
	cfg := rest.CopyConfig(c.Config)
	cfg.Wrap(source.transport)
	end := s.source(cfg)
	must(t, c.Lab.AtOnce(failed, "crash"))
	must(t, rig.Until(ctx, "a census with eight failed nodes, and with no slot left", func() (bool, error) {
		l, err := c.Fences.Ledger(ctx)
		return err == nil && inItsMiddle(l.Status.Census, len(failed)), err
	}))
	source.die()
	end()
	devices("none")
	seen.begin()
	must(t, s.wakeAll(len(failed)))
	s.judge(failed)
	byList, byCensus := seen.taken()
	t.Logf("after the source had died, slots were reserved for %v by a LIST, for %v by its census", byList, byCensus)
	if len(byList) == 0 {
		t.Error("after the source had died, no slot was reserved by a LIST")
	}
}

// inItsMiddle: the census has a burst of so many nodes, of which as many as may have a slot.
func inItsMiddle(c *api.Census, failed int) bool {
	if c == nil {
		return false
	}
	down, waiting, holding := 0, 0, 0
	for _, n := range c.Nodes {
		if n.Unhealthy {
			down++
		}
	}
	for _, f := range c.Fences {
		switch {
		case f.Phase.HoldsSlot():
			holding++
		case f.Phase == api.Pending:
			waiting++
		}
	}
	return down == failed && holding == slots && waiting == failed-slots
}

// wakeAll wakes each fence once a second, as resync does once it is late, until each of so many has
// ended. As often it has the ledger's picture of the Leases observed now, and leaves the census as it is.
func (s *sweep) wakeAll(failed int) error {
	source, polls := events.SourceOf("test"), 0
	return rig.Until(s.ctx, "each fence to end", func() (bool, error) {
		now := s.Fences.Clock().Now()
		if polls%10 == 0 {
			if err := s.pictureIsOf(now); err != nil {
				return false, err
			}
		}
		fences, err := s.Fences.Fences(s.ctx)
		if err != nil {
			return false, err
		}
		ended := 0
		for i := range fences {
			switch f := &fences[i]; {
			case f.Status.Phase == api.Finished:
				ended++
			case polls%10 == 0:
				_ = s.Send(s.ctx, source.Phase(f, now, now)) // it never fails
			}
		}
		polls++
		return ended == failed, nil
	})
}

// pictureIsOf dates the picture of the Leases.
func (s *sweep) pictureIsOf(now time.Time) error {
	body := fmt.Appendf(nil, `{"status":{"leases":{"observedAt":%q}}}`, now.UTC().Format("2006-01-02T15:04:05.000000Z"))
	path := "/apis/nodefence.io/v1alpha1/fenceledgers/" + api.LedgerName
	return s.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath(path).SubResource("status").Body(body).Do(s.ctx).Error()
}

// judge holds what the machines were told to the limit, by the records and by the BMCs' own logs.
func (s *sweep) judge(failed []string) {
	s.t.Helper()
	var held, off []span
	for _, node := range failed {
		f, err := s.Fences.Fence(s.ctx, node)
		must(s.t, err)
		told, err := s.Lab.Commands(node)
		must(s.t, err)
		var words []string
		for _, c := range told {
			words = append(words, c.Command)
		}
		if got := strings.Join(words, " "); got != "off on" {
			s.t.Fatalf("the BMC of %s was told %q, want off on\n%s", node, got, rig.Story(f))
		}
		slot := slotOf(s.t, f)
		held, off = append(held, slot), append(off, span{told[0].Time, slot.to})
	}
	if n := mostAtOnce(held); n > slots {
		s.t.Errorf("%d fences held a slot at once, %d are allowed", n, slots)
	}
	if n := mostAtOnce(off); n > slots {
		s.t.Errorf("%d machines were at once between Off, by their BMCs' logs, and the release, %d are allowed", n, slots)
	}
}

// decisions sees by what a gate decides on each slot that it reserves: by a LIST of the nodes since it
// last wrote the ledger, or by the census.
type decisions struct {
	mu               sync.Mutex
	listed           bool
	has              map[string]bool
	byList, byCensus []string
}

// of is the same cluster, with a gate's way to its API server.
func (d *decisions) of(c *rig.Cluster) *rig.Cluster {
	cfg := rest.CopyConfig(c.Config)
	cfg.Wrap(d.transport)
	return &rig.Cluster{Lab: c.Lab, Config: cfg, Kube: c.Kube, Fences: c.Fences}
}

func (d *decisions) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var ledger api.FenceLedger
		writes := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/fenceledgers/")
		if writes {
			body, err := r.GetBody()
			if err == nil {
				err = json.NewDecoder(body).Decode(&ledger)
			}
			if err != nil {
				return nil, fmt.Errorf("read the ledger that is written: %w", err)
			}
		}
		resp, err := next.RoundTrip(r)
		switch {
		case err != nil || resp.StatusCode != http.StatusOK:
		case writes:
			d.wrote(&ledger)
		case r.Method == http.MethodGet && r.URL.Path == "/api/v1/nodes":
			d.mu.Lock()
			d.listed = true
			d.mu.Unlock()
		}
		return resp, err
	})
}

// wrote notes whose slots are new in the ledger.
func (d *decisions) wrote(l *api.FenceLedger) {
	d.mu.Lock()
	defer d.mu.Unlock()
	has := map[string]bool{}
	for _, r := range l.Status.Reservations {
		has[r.NodeName] = true
	}
	for _, node := range slices.Sorted(maps.Keys(has)) {
		switch {
		case d.has[node]:
		case d.listed:
			d.byList = append(d.byList, node)
		default:
			d.byCensus = append(d.byCensus, node)
		}
	}
	d.has, d.listed = has, false
}

// begin forgets what was decided until now.
func (d *decisions) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byList, d.byCensus = nil, nil
}

// taken are the nodes for which a slot was reserved.
func (d *decisions) taken() (byList, byCensus []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byList, d.byCensus
}
