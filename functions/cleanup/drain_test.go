package cleanup

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// drains asks so many pods of a node to leave, in this round, which was saved so long ago.
func drains(t *testing.T, pods int, round int32, ago time.Duration, answer func(w http.ResponseWriter, pod string)) (asked []string, seen observed.Look, err error) {
	t.Helper()
	var mu sync.Mutex
	server := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		if r.Method != http.MethodPost {
			kubetest.Answer(w, "{}")
			return
		}
		pod := strings.Split(r.URL.Path, "/")[6]
		mu.Lock()
		asked = append(asked, pod)
		mu.Unlock()
		answer(w, pod)
	}))
	client, err := kube.New(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ready(t.Context()); err != nil { // learns what time it is
		t.Fatal(err)
	}
	at := metav1.NewMicroTime(client.Clock().Now().Add(-ago))
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{Drain: &api.DrainRecord{AskedAt: &at, Rounds: round}}}
	seen.Draining = &observed.Draining{}
	for i := range pods {
		name := fmt.Sprintf("p%03d", i)
		seen.Draining.Evict = append(seen.Draining.Evict, observed.Pod{Namespace: "n", Name: name, UID: types.UID(name)})
	}
	r, err := (&Cleaner{Client: client}).Act(t.Context(), f, fence.Evict, seen)
	seen.Evicted = r.Evicted
	slices.Sort(asked)
	return asked, seen, err
}

// TestPodsAreAskedToLeave: what a budget holds, and what goes wrong, is told and no error. Each round
// asks a bounded number of pods, and the next one the others.
func TestPodsAreAskedToLeave(t *testing.T) {
	answer := func(w http.ResponseWriter, pod string) {
		code := map[string]int{"p001": 429, "p002": 403}[pod]
		if code == 0 {
			code = 201
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no %s","code":%d}`, pod, code)
	}
	asked, seen, err := drains(t, 60, 1, 0, answer)
	if err != nil || len(asked) != mostEvicted || asked[0] != "p000" || asked[49] != "p049" {
		t.Errorf("%v: %d pods were asked: %v", err, len(asked), asked)
	}
	if e := seen.Evicted; e == nil || len(e.Held) != 1 || e.Held[0] != "n/p001: no p001" || len(e.Failed) != 1 || !strings.HasPrefix(e.Failed[0], "n/p002: ") {
		t.Errorf("%+v", seen.Evicted)
	}
	if asked, _, err = drains(t, 60, 2, 0, answer); err != nil || !slices.Contains(asked, "p059") || slices.Contains(asked, "p041") {
		t.Errorf("%v: in the second round %v", err, asked)
	}
	if asked, _, err = drains(t, 3, 1, time.Minute, answer); err == nil || len(asked) > 0 {
		t.Errorf("late: %v were asked (%v)", asked, err)
	}
}
