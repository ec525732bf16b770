package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// sampling is the part of a cluster with templates.
type sampling struct {
	templates []far.Template
	targets   map[string]*api.FenceTarget
	// looked are the nodes whose FenceTargets were read.
	looked []string
	// saves counts the statuses that were written; the one of number conflicts is refused, from 1.
	saves, conflicts int
	// wishes are the checks that were asked for; wishRefused is why none may be.
	wishes      []string
	wishRefused error
}

func (s *sampling) RequestCheck(_ context.Context, node, wish string) (*api.FenceTarget, error) {
	if s.wishRefused != nil {
		return nil, s.wishRefused
	}
	s.wishes = append(s.wishes, node+" "+wish)
	s.targets[node].Annotations = map[string]string{api.CheckNowAnnotation: wish}
	return s.targets[node].DeepCopy(), nil
}

func (s *sampling) FARTemplates(_ context.Context, namespace string) (some []far.Template, err error) {
	for _, t := range s.templates {
		if t.Namespace == namespace {
			some = append(some, t)
		}
	}
	return some, nil
}

func (s *sampling) Target(_ context.Context, node string) (*api.FenceTarget, error) {
	s.looked = append(s.looked, node)
	return s.targets[node].DeepCopy(), nil
}

func (s *sampling) SaveFARTemplateStatus(_ context.Context, t *far.Template, st far.TemplateStatus) error {
	if s.saves++; s.saves == s.conflicts {
		return fmt.Errorf("patch: %w", kube.ErrConflict)
	}
	for i := range s.templates {
		if s.templates[i].UID == t.UID {
			s.templates[i].Status = st
		}
	}
	return nil
}

// templated is a cluster without objects, with a template about so many nodes, of which a share is sampled.
func templated(nodes int, sample string) *cluster {
	c := newCluster()
	c.object = nil
	t := far.Template{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", UID: "t", Generation: 1}}
	all := map[string]string{}
	for i := range nodes {
		all[fmt.Sprintf("node-%04d", i)] = "192.0.2.1"
	}
	t.Spec.Template.Spec = far.Spec{Agent: "fence_ipmilan", NodeParameters: map[string]map[string]string{"--ip": all}}
	t.Spec.StatusValidationSample = json.RawMessage(sample)
	c.templates, c.targets = []far.Template{t}, map[string]*api.FenceTarget{}
	return c
}

// skipWakes has all checks asked for that the template as it is asks for.
func skipWakes(a *Adopter) { a.wakes.all = map[types.UID]wake{"t": {generation: 1}} }

// reads has the device of a node read at a time.
func (c *cluster) reads(node string, at time.Time, reason api.Reason, state api.PowerState) {
	when := metav1.NewMicroTime(at)
	c.targets[node] = &api.FenceTarget{Status: api.FenceTargetStatus{Devices: []api.TargetDevice{{Role: api.RolePower, Reason: reason, Message: "so", State: state, LastChecked: &when}}}}
}

func (c *cluster) sample() string {
	is := meta.FindStatusCondition(c.templates[0].Status.Conditions, "FenceAgentStatusValidationSucceeded")
	if is == nil {
		return "none"
	}
	return string(is.Status) + " " + is.Reason + " " + fmt.Sprint(c.templates[0].Status.ValidationFailed)
}

// TestASampleIsAnswered from what the checks have read: only its nodes are looked at, nothing is written
// twice, and once all have passed nothing is read any more.
func TestASampleIsAnswered(t *testing.T) {
	c := templated(4, "2")
	c.conflicts = 2
	a, now := c.adopter(new(strings.Builder), new(time.Duration)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	skipWakes(a)
	a.Now = func() time.Time { return now }
	look := func(want string, saves int, looked string) {
		t.Helper()
		c.looked = nil
		if err := a.LookAtTemplates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.looked, " "); c.sample() != want || c.saves != saves || got != looked {
			t.Errorf("it stands at %q after %d writes, looked at %q; want %q, %d, %q", c.sample(), c.saves, got, want, saves, looked)
		}
	}
	const both = "node-0000 node-0001"
	look("Unknown ValidationInProgress map[]", 1, "")
	c.node.Name = "node-0001"
	c.reads("node-0000", now.Add(time.Minute), api.DeviceAnswers, api.PoweredOn)
	look("Unknown ValidationInProgress map[]", 2, both) // refused: somebody else has written
	look("Unknown ValidationInProgress map[]", 3, both)
	look("Unknown ValidationInProgress map[]", 3, "node-0001")
	now = now.Add(time.Minute)
	c.reads("node-0001", now, api.DeviceUnreachable, api.PowerUnknown)
	look("False ValidationFailed map[node-0001:DeviceUnreachable: so]", 4, "node-0001")
	look("False ValidationFailed map[node-0001:DeviceUnreachable: so]", 4, "node-0001")
	c.reads("node-0001", now.Add(time.Minute), api.DeviceAnswers, api.PoweredOn)
	look("True ValidationSucceeded map[]", 5, "node-0001")
	look("True ValidationSucceeded map[]", 5, "")
	if len(c.writes) > 0 || len(c.events) > 0 {
		t.Errorf("it wrote %s, and told %s", c.writes, c.events)
	}
}

// TestANodeWhoseObjectAsks: its device is that of the object, which says nothing of the template.
func TestANodeWhoseObjectAsks(t *testing.T) {
	c := templated(1, "1")
	a, now := c.adopter(new(strings.Builder), new(time.Duration)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a.Now = func() time.Time { return now }
	c.object = newCluster().object
	c.object.Name = "node-0000"
	for _, want := range []string{"Unknown ValidationInProgress map[]", "Unknown ValidationInProgress map[]", "True ValidationSucceeded map[]"} {
		if err := a.LookAtTemplates(t.Context()); err != nil || c.sample() != want {
			t.Errorf("it stands at %q, want %q: %v", c.sample(), want, err)
		}
		if now = now.Add(time.Minute); c.targets["node-0000"] != nil {
			c.object = nil
		}
		c.reads("node-0000", now, api.DeviceAnswers, api.PoweredOn)
	}
}

// TestThatProgramValidates: as long as its Lease moves, or nobody knows, no template is written.
func TestThatProgramValidates(t *testing.T) {
	c, elapsed := templated(1, "1"), time.Hour
	holder, seconds := "far-1", int32(15)
	lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: far.LeaderLease, ResourceVersion: "1"}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds}
	c.leases = []coordinationv1.Lease{lease}
	a := c.adopter(new(strings.Builder), &elapsed)
	for i, step := range []struct {
		after   time.Duration
		version string
		want    string
	}{{0, "1", "none"}, {14 * time.Second, "1", "none"}, {0, "2", "none"}, {14 * time.Second, "2", "none"}, {time.Second, "2", "Unknown ValidationInProgress map[]"}} {
		elapsed += step.after
		c.leases[0].ResourceVersion = step.version
		if err := a.LookAtTemplates(t.Context()); err != nil || c.sample() != step.want {
			t.Errorf("look %d: %v, %q, want %q", i, err, c.sample(), step.want)
		}
	}
}

// TestALargeSample is read in turns: no look reads more than 50 FenceTargets, and each node has its turn.
func TestALargeSample(t *testing.T) {
	c := templated(1000, `"100%"`)
	a, now := c.adopter(new(strings.Builder), new(time.Duration)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	skipWakes(a)
	a.Now = func() time.Time { return now }
	seen := map[string]bool{}
	for i := range 21 {
		c.looked = nil
		if err := a.LookAtTemplates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(c.looked) > 50 {
			t.Fatalf("look %d reads %d", i, len(c.looked))
		}
		for _, node := range c.looked {
			seen[node] = true
		}
		if i == 0 {
			now = now.Add(time.Hour)
			for node := range c.templates[0].Spec.Template.Spec.NodeParameters["--ip"] {
				if node > "node-0060" { // the first ones are not read: they keep nobody from having a turn
					c.reads(node, now, api.DeviceAnswers, api.PoweredOn)
				}
			}
			for i := range 61 {
				c.targets[fmt.Sprintf("node-%04d", i)] = &api.FenceTarget{}
			}
		}
	}
	passed := c.templates[0].Status.ValidationPassed
	if len(seen) != 1000 || len(passed) != 1000-61 {
		t.Errorf("%d were looked at, %d have passed: %s", len(seen), len(passed), slices.Sorted(maps.Keys(passed))[:3])
	}
}
