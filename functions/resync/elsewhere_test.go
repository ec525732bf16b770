package resync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
)

// apart are the FenceRequests of all namespaces, and the Events about them, one a line.
type apart struct {
	all    []api.FenceRequest
	err    error
	refuse string
	looks  int
	told   []string
}

func (a *apart) AllFenceRequests(context.Context) ([]api.FenceRequest, error) {
	a.looks++
	return a.all, a.err
}

func (a *apart) ReportFenceRequest(_ context.Context, r *api.FenceRequest, reporter, reason, message string) error {
	if r.Namespace == a.refuse {
		return errors.New("the namespace is being deleted")
	}
	a.told = append(a.told, fmt.Sprintf("%s/%s %s %s: %s", r.Namespace, r.Name, reporter, reason, message))
	return nil
}

// has adds one of that UID.
func (a *apart) has(namespace, name string, uid types.UID) *api.FenceRequest {
	a.all = append(a.all, api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}})
	return &a.all[len(a.all)-1]
}

func (a *apart) resyncer(log *bytes.Buffer, at *time.Time) *Resyncer {
	return &Resyncer{
		Fences: records{}, Elsewhere: a, RequestNamespaces: ask.Namespaces{"own", "other"}, Source: events.SourceOf("c"), Sender: &broker{},
		Now: func() time.Time { return *at }, Log: slog.New(slog.NewTextHandler(log, nil)),
	}
}

// at looks once, that long after the last look, and says what is told then.
func (a *apart) at(t *testing.T, w *Resyncer, at *time.Time, after time.Duration) string {
	t.Helper()
	*at, a.told = at.Add(after), nil
	if err := w.Resync(t.Context()); err != nil {
		t.Error(err)
	}
	return strings.Join(a.told, "\n")
}

// TestWhatDoesNotCountIsTold once for each object and process, by the setting's name, and no event is sent.
func TestWhatDoesNotCountIsTold(t *testing.T) {
	a, at := &apart{}, now
	w := a.resyncer(&bytes.Buffer{}, &at)
	a.has("own", "a", "a")
	a.has("else", "b", "b")
	ended := a.has("else", "c", "c")
	ended.Status = ask.Refused(ended, api.NoPolicy, "no", now)
	const why = " resync NamespaceDoesNotCount: nodefence does nothing about it: its namespace is not in NODEFENCE_REQUEST_NAMESPACES (own,other)"
	if d := cmp.Diff("else/b"+why, a.at(t, w, &at, 0)); d != "" {
		t.Error(d)
	}
	if got := a.at(t, w, &at, 30*time.Second); got != "" || a.looks != 1 {
		t.Errorf("after half a minute it looked %d times, and told %q", a.looks, got)
	}
	a.has("third", "b", "d")
	if d := cmp.Diff("third/b"+why, a.at(t, w, &at, lookElsewhere)); d != "" {
		t.Error(d)
	}
	a.all[1].UID = "e" // it was deleted, and made again
	if d := cmp.Diff("else/b"+why, a.at(t, w, &at, lookElsewhere)); d != "" {
		t.Error(d)
	}
	if got := w.Sender.(*broker).got; len(got) > 0 {
		t.Error(got)
	}
}

// TestWhatCanNotBeToldFailsNoRound: the log says so once, until something is told again. One that is refused
// keeps no other from being told, and is tried again.
func TestWhatCanNotBeToldFailsNoRound(t *testing.T) {
	a, at, log := &apart{err: errors.New("forbidden")}, now, &bytes.Buffer{}
	w := a.resyncer(log, &at)
	a.has("else", "a", "a")
	a.has("third", "b", "b")
	said := func(n int) {
		t.Helper()
		if is := strings.Count(log.String(), "cannot tell of FenceRequests"); is != n {
			t.Errorf("it was said %d times, want %d: %s", is, n, log)
		}
	}
	a.at(t, w, &at, 0)
	a.at(t, w, &at, lookElsewhere)
	said(1)
	a.err, a.refuse = nil, "else"
	if got := a.at(t, w, &at, lookElsewhere); !strings.HasPrefix(got, "third/b ") {
		t.Errorf("told %q", got)
	}
	said(1)
	a.refuse = ""
	if got := a.at(t, w, &at, lookElsewhere); !strings.HasPrefix(got, "else/a ") || strings.Contains(got, "third") {
		t.Errorf("told %q", got)
	}
	a.err = errors.New("forbidden")
	a.at(t, w, &at, lookElsewhere)
	said(2)
}

// TestToldOfAFewAtOnce, and of the others at the next looks.
func TestToldOfAFewAtOnce(t *testing.T) {
	a, at := &apart{}, now
	w := a.resyncer(&bytes.Buffer{}, &at)
	for i := range perRound + 3 {
		a.has("else", fmt.Sprint(i), types.UID(fmt.Sprint(i)))
	}
	var got []int
	for range 3 {
		a.at(t, w, &at, lookElsewhere)
		got = append(got, len(a.told))
	}
	if d := cmp.Diff([]int{perRound, 3, 0}, got); d != "" {
		t.Error(d)
	}
}
