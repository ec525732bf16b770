package adopt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// elsewhere is a cluster with nothing but objects of these names in namespaces that do not count, each with
// its name as its UID.
func elsewhere(all ...string) *cluster {
	c := newCluster()
	c.object = nil
	for _, is := range all {
		namespace, name, _ := strings.Cut(is, "/")
		c.apart = append(c.apart, far.Object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}})
	}
	return c
}

// tells looks once, that long after the last look, and says what is told then.
func (c *cluster) tells(t *testing.T, a *Adopter, at *time.Duration, after time.Duration) string {
	t.Helper()
	*at, c.told = *at+after, nil
	if err := a.Look(t.Context()); err != nil {
		t.Error(err)
	}
	return strings.Join(c.told, ", ")
}

// TestWhatDoesNotCountIsTold once for each object and process, and not of one that asks for nothing.
func TestWhatDoesNotCountIsTold(t *testing.T) {
	c, at := elsewhere("else/a", "else/deleted", "else/given-up", "m/counts"), new(time.Duration)
	now := metav1.Now()
	c.apart[1].DeletionTimestamp = &now
	c.apart[2].Annotations = map[string]string{api.TimedOutAnnotation: "x"}
	a := c.adopter(new(strings.Builder), at)
	const told = " NamespaceDoesNotCount"
	if got := c.tells(t, a, at, 0); got != "else/a"+told {
		t.Errorf("told %q", got)
	}
	c.apart = append(c.apart, far.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "third", Name: "b", UID: "b"}})
	if got := c.tells(t, a, at, lookElsewhere-Tick); got != "" || c.looks != 1 {
		t.Errorf("it looked %d times, and told %q", c.looks, got)
	}
	if got := c.tells(t, a, at, Tick); got != "third/b"+told {
		t.Errorf("told %q", got)
	}
	c.apart[0].UID = "again" // it was deleted, and made again
	if got := c.tells(t, a, at, lookElsewhere); got != "else/a"+told {
		t.Errorf("told %q", got)
	}
}

// TestATemplateThatDoesNotCountIsTold: NodeHealthCheck makes objects of it in its namespace. Where templates
// can't be read the objects are told of all the same, and none is told of twice.
func TestATemplateThatDoesNotCountIsTold(t *testing.T) {
	c, at := elsewhere("else/a"), new(time.Duration)
	log := new(strings.Builder)
	a := c.adopter(log, at)
	c.apartTemplates, c.templatesErr = nil, errors.New("forbidden")
	if got := c.tells(t, a, at, 0); got != "else/a NamespaceDoesNotCount" || strings.Count(log.String(), "cannot tell of FenceAgentsRemediationTemplates in") != 1 {
		t.Errorf("told %q, and the log says %s", got, log)
	}
	c.apartTemplates, c.templatesErr = []metav1.ObjectMeta{{Namespace: "else", Name: "t", UID: "t"}, {Namespace: "m", Name: "counts", UID: "c"}}, nil
	if got := c.tells(t, a, at, lookElsewhere); got != "template else/t NamespaceDoesNotCount" {
		t.Errorf("told %q", got)
	}
	c.apartTemplates, c.templatesErr = nil, errors.New("forbidden")
	c.tells(t, a, at, lookElsewhere)
	c.apartTemplates, c.templatesErr = []metav1.ObjectMeta{{Namespace: "else", Name: "t", UID: "t"}}, nil
	if got := c.tells(t, a, at, lookElsewhere); got != "" {
		t.Errorf("told again: %q", got)
	}
}

// TestOneKindKeepsNoOtherFromBeingTold: Events about objects that are refused again and again, or a failure
// that was logged of templates.
func TestOneKindKeepsNoOtherFromBeingTold(t *testing.T) {
	var all []string
	for i := range mostElsewhere {
		all = append(all, fmt.Sprint("else/", i))
	}
	c, at, log := elsewhere(all...), new(time.Duration), new(strings.Builder)
	c.refuses = "else"
	c.apartTemplates = []metav1.ObjectMeta{{Namespace: "third", Name: "t", UID: "t"}}
	a := c.adopter(log, at)
	if got := c.tells(t, a, at, 0); got != "template third/t NamespaceDoesNotCount" {
		t.Errorf("told %q", got)
	}
	c.refuses, c.templatesErr = "", errors.New("forbidden")
	c.tells(t, a, at, lookElsewhere)
	c.apart = nil
	c.tells(t, a, at, lookElsewhere)
	if is := a.apart.told[far.Kind]; len(is) > 0 {
		t.Errorf("objects that are gone are remembered: %v", is)
	}
	before := strings.Count(log.String(), "cannot tell of FenceAgentsRemediations in")
	c.apartErr = errors.New("forbidden")
	c.tells(t, a, at, lookElsewhere)
	if is := strings.Count(log.String(), "cannot tell of FenceAgentsRemediations in"); is != before+1 {
		t.Errorf("the log says %s", log)
	}
}

// TestNothingIsToldWhileThatProgramRuns, or may run: it works on the objects of all namespaces.
func TestNothingIsToldWhileThatProgramRuns(t *testing.T) {
	c, at := elsewhere("else/a"), new(time.Duration)
	holder, seconds := "far-1", int32(137)
	c.leases = []coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: far.LeaderLease, ResourceVersion: "1"}}}
	c.leases[0].Spec.HolderIdentity, c.leases[0].Spec.LeaseDurationSeconds = &holder, &seconds
	a := c.adopter(new(strings.Builder), at)
	for i, version := range []string{"1", "1", "2", "2"} {
		c.leases[0].ResourceVersion = version
		if got := c.tells(t, a, at, time.Minute); got != "" || c.looks > 0 {
			t.Errorf("look %d: told %q after %d lists", i, got, c.looks)
		}
	}
	if got := c.tells(t, a, at, 2*time.Minute); got == "" {
		t.Error("it stood still for its duration, and nothing is told")
	}
}

// TestWhatCanNotBeToldFailsNoLook: the log says so once, until all is told again. One that is refused keeps
// no other from being told, and is tried again.
func TestWhatCanNotBeToldFailsNoLook(t *testing.T) {
	c, at, log := elsewhere("else/a", "third/b"), new(time.Duration), new(strings.Builder)
	a := c.adopter(log, at)
	said := func(n int) {
		t.Helper()
		if is := strings.Count(log.String(), "cannot tell of FenceAgentsRemediations in"); is != n {
			t.Errorf("it was said %d times, want %d: %s", is, n, log)
		}
	}
	c.apartErr = errors.New("forbidden")
	c.tells(t, a, at, 0)
	c.tells(t, a, at, lookElsewhere)
	said(1)
	c.apartErr, c.refuses = nil, "else"
	if got := c.tells(t, a, at, lookElsewhere); got != "third/b NamespaceDoesNotCount" {
		t.Errorf("told %q", got)
	}
	said(1)
	c.refuses = ""
	if got := c.tells(t, a, at, lookElsewhere); got != "else/a NamespaceDoesNotCount" {
		t.Errorf("told %q", got)
	}
	c.apartErr = errors.New("forbidden")
	c.tells(t, a, at, lookElsewhere)
	said(2)
}

// TestToldOfAFewAtOnce, and of the others at the next looks.
func TestToldOfAFewAtOnce(t *testing.T) {
	var all []string
	for i := range mostElsewhere + 3 {
		all = append(all, fmt.Sprint("else/", i))
	}
	c, at := elsewhere(all...), new(time.Duration)
	a := c.adopter(new(strings.Builder), at)
	for _, want := range []int{mostElsewhere, 3, 0} {
		if c.tells(t, a, at, lookElsewhere); len(c.told) != want {
			t.Errorf("told of %d, want %d", len(c.told), want)
		}
	}
}
