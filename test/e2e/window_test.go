package e2e

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// TestPauseWindow: if a node dies while a window is open, its fence is held, and all reports say
// until when. It is fenced after the window is over. A window that begins during a fence does not
// change that fence, and holds the next one (S25, S27, S28).
func TestPauseWindow(t *testing.T) {
	hour := time.Now().UTC().Truncate(time.Hour)
	open := window(hour.Add(-2*time.Hour), 8*time.Hour)
	w := newWorld(t, 4, quick+open)
	p := w.start(nil)
	server := httptest.NewServer(p.HTTP())
	defer server.Close()
	first := w.database(1)

	w.node(first, "crash")
	w.unready(first)
	f := w.held(first, api.PauseWindow)
	says := "pause window of policy default (new firmware): no fence begins until " + hour.Add(6*time.Hour).Format(time.RFC3339)
	if f.Status.Phase != api.Pending || f.Status.Message != says || f.Status.NextLook == nil {
		t.Errorf("held: %s, %q, looked at again at %v, want %q", f.Status.Phase, f.Status.Message, f.Status.NextLook, says)
	}
	w.event("NodeFence", first, api.PauseWindow, says)
	w.disallowed(api.PauseWindow, says)
	metric := fmt.Sprintf(`nodefence_decisions_total{function="gate",phase="Pending",reason=%q}`, api.PauseWindow)
	if n := value(string(get(t, server.URL+"/metrics")), metric); n == "" || n == "0" {
		t.Errorf("%s is %q", metric, n)
	}
	w.words(first, "")
	w.unmarked(first)

	must(t, w.Lab.Fault(first, "slow=6s"))
	must(t, w.Apply(w.ctx, rig.Policy("default", quick+window(hour.Add(6*time.Hour), time.Hour))))
	w.until("the power-off to be accepted", func() (bool, error) {
		words, err := w.Lab.Words(first)
		return words == "off", err
	})
	must(t, w.Apply(w.ctx, rig.Policy("default", quick+open)))
	now := w.moved("db-0", first)
	second := w.besides(4, first, now)
	w.node(second, "power-loss")
	w.ended(first, api.Recovered)
	w.words(first, "off on")
	w.oneWriter()
	w.unmarked(first)

	w.held(second, api.PauseWindow)
	w.node(second, "power-on")
	w.ended(second, api.HealedBeforeFence)
	w.words(second, "")
	w.unmarked(second)
}

// window is a policy's pause window as text.
func window(from time.Time, lasts time.Duration) string {
	return fmt.Sprintf("pauseWindows: [{start: %q, duration: %s, reason: new firmware}]\n", from.Format("15:04"), lasts)
}

// besides is one of this many nodes that is not among these.
func (w *world) besides(n int, not ...string) string {
	w.t.Helper()
	taken := map[string]bool{}
	for _, name := range not {
		taken[name] = true
	}
	for i := range n {
		if !taken[node(i)] {
			return node(i)
		}
	}
	w.t.Fatalf("no node besides %v", not)
	return ""
}

// event waits for an Event on an object.
func (w *world) event(kind, name string, why api.Reason, says string) {
	w.t.Helper()
	w.until(fmt.Sprintf("an Event %s on %s %s", why, kind, name), func() (bool, error) {
		all, err := w.Kube.CoreV1().Events(corev1.NamespaceAll).List(w.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name})
		if err != nil {
			return false, nil
		}
		for _, e := range all.Items {
			if e.Reason == string(why) && e.Message == "[fence] "+says {
				return true, nil
			}
		}
		return false, nil
	})
}

// disallowed waits for the policy to say why no fence begins.
func (w *world) disallowed(why api.Reason, says string) {
	w.t.Helper()
	w.until("the policy to say "+string(why), func() (bool, error) {
		p, err := w.Fences.Policy(w.ctx, "default")
		if err != nil || p == nil {
			return false, nil
		}
		for _, c := range p.Status.Conditions {
			if c.Type == "FencingAllowed" && c.Status == metav1.ConditionFalse && c.Reason == string(why) && c.Message == says {
				return true, nil
			}
		}
		return false, nil
	})
}
