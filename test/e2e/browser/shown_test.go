package browser

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// shown has a machine fail, and waits until the page of all nodes has its fence. It logs how long after
// watches of the API server the page showed that the node is not Ready, and that its fence waits for approval.
// Nothing fails because that took long: a busy machine is no fault of the page.
func (w *world) shown(b *tab, node, failure string) {
	w.t.Helper()
	value[bool](b, `window.shown = {}; new MutationObserver(() => {
		const says = document.getElementById("row-`+node+`")?.textContent ?? "";
		if (/Ready condition is Unknown|Pending/.test(says)) shown.node ??= Date.now();
		if (says.includes("WaitingForApproval")) shown.fence ??= Date.now();
	}).observe(document.body, {subtree: true, childList: true, characterData: true}); true`)
	unknown := told(w, "/api/v1/nodes", func(n *corev1.Node) bool {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && n.Name == node {
				return c.Status == corev1.ConditionUnknown
			}
		}
		return false
	})
	waits := told(w, "/apis/nodefence.io/v1alpha1/nodefences", func(f *api.NodeFence) bool {
		return f.Name == node && f.Open() && f.Status.Reason == api.WaitingForApproval
	})
	w.must(w.Lab.Node(node, failure))
	b.sees(`!!shown.fence`)
	after := func(what string, told <-chan time.Time) time.Duration {
		at, is := <-told
		if !is {
			w.t.Fatalf("the watch for %s of %s has ended", what, node)
		}
		return time.UnixMilli(value[int64](b, "shown."+what)).Sub(at).Round(time.Millisecond)
	}
	w.t.Logf("after %s the page showed node %s %s, and its fence %s, after the API server had told it", failure, node, after("node", unknown), after("fence", waits))
}

// told gets the time at which a watch tells that some object is as wanted; nothing if the watch ends before.
func told[T any](w *world, path string, is func(*T) bool) <-chan time.Time {
	w.t.Helper()
	stream, err := w.Kube.CoreV1().RESTClient().Get().AbsPath(path).Param("watch", "true").Stream(w.ctx)
	w.must(err)
	out := make(chan time.Time, 1)
	go func() {
		defer close(out)
		defer stream.Close()
		for events := json.NewDecoder(stream); ; {
			var e struct {
				Object T `json:"object"`
			}
			if events.Decode(&e) != nil {
				return
			}
			if is(&e.Object) {
				out <- time.Now()
				return
			}
		}
	}()
	return out
}
