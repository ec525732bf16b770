package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

const own = "/apis/nodefence.io/v1alpha1/"

// shop is an API server with node a, and a fence of it that waits for approval.
type shop struct {
	mu sync.Mutex
	// reads counts how often the record was read. From read number next on, another fence is open.
	reads, next int
	// off is by how much its clock is off from this machine's.
	off time.Duration
	// wrote are the bodies of the writes that were taken.
	wrote []string
	// node is the UID of node a.
	node types.UID
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Date", time.Now().Add(s.off).UTC().Format(http.TimeFormat))
	switch {
	case r.Method == http.MethodPatch && !strings.Contains(string(body), s.version()):
		kubetest.Refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	case r.Method != http.MethodGet:
		s.wrote = append(s.wrote, string(body))
	case r.URL.Path == own+"nodefences/a":
		s.reads++
	}
	kubetest.Answer(w, s.object(r.URL.Path))
}

// version is the record's, as it stands in a patch of it.
func (s *shop) version() string { return fmt.Sprintf(`"resourceVersion":"%d"`, s.fence()) }

// fence is the number of the fence that is open.
func (s *shop) fence() int {
	if s.next > 0 && s.reads >= s.next {
		return 4
	}
	return 3
}

func (s *shop) object(path string) any {
	list := func(kind, items string) json.RawMessage {
		return json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"` + kind + `List","items":[` + items + `]}`)
	}
	switch path {
	case "/api/v1/nodes":
		return corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: s.node}}}}
	case own + "fencepolicies":
		return list("FencePolicy", `{"metadata":{"name":"workers"},"spec":{"selector":{},"mode":"RequireApproval","action":"Reboot"}}`)
	case own + "nodefences":
		return list("NodeFence", "")
	case own + "fencetargets":
		return list("FenceTarget", "")
	case own + "fenceledgers/cluster":
		return json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster","resourceVersion":"3"},
"status":{"storms":[{"policy":"workers","since":"2026-01-01T11:00:00.000000Z","coolDownUntil":"2126-01-01T12:00:00.000000Z"}]}}`)
	case own + "nodefences/a":
		return json.RawMessage(fmt.Sprintf(`{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFence","metadata":{"name":"a","uid":"u","resourceVersion":"%d"},"spec":{"nodeName":"a"},
"status":{"fenceNumber":%[1]d,"phase":"Pending","reason":"WaitingForApproval","message":"m","decision":{"policy":{"name":"workers"},"settings":{"mode":"RequireApproval","action":"Reboot"}}}}`, s.fence()))
	}
	return api.FenceRequest{TypeMeta: metav1.TypeMeta{APIVersion: "nodefence.io/v1alpha1", Kind: "FenceRequest"}}
}

var hidden = regexp.MustCompile(`type="hidden" name="([a-z]+)" value="([^"]*)"`)

// asked is the page that asks about an act, and what its form sends along.
func asked(t *testing.T, c *http.Client, address string) (string, url.Values) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, form := read(t, r), url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], m[2])
	}
	if r.StatusCode != http.StatusOK || len(form) != 3 {
		t.Fatalf("%s: %d: %s", address, r.StatusCode, page)
	}
	return page, form
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("&#39;", "'", "&#34;", `"`).Replace(string(text))
}

// sent is the answer to a form.
func sent(t *testing.T, c *http.Client, address string, form url.Values, more ...string) (int, string) {
	t.Helper()
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	r, err := (&http.Client{Jar: c.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, read(t, r)
}

// TestWhatIsWrittenIsWhatWasShown: whichever read of the record is the first that has another fence,
// nothing is asked of that one.
func TestWhatIsWrittenIsWhatWasShown(t *testing.T) {
	for next, wrote := range map[int]int{0: 1, 2: 0, 3: 1} {
		in := &shop{next: next}
		_, c, base := before(t, kubetest.Serve(t, in))
		_, form := asked(t, c, base+"/do/approve/a")
		status, page := sent(t, c, base+"/do/approve/a", form, "reason", "seen dark")
		if len(in.wrote) != wrote || strings.Contains(strings.Join(in.wrote, ""), `"fenceNumber":4`) || (status == http.StatusSeeOther) != (wrote > 0) {
			t.Errorf("another fence from read %d on: %d, written: %v", next, status, in.wrote)
		}
		if wrote == 0 && !strings.Contains(page, "has changed since it was shown") {
			t.Errorf("another fence from read %d on: %s", next, page)
		}
	}
}

// TestAsk: what a FenceRequest will do is said from what the API server has now, whatever the pages
// have, and the person says whether the node is drained.
func TestAsk(t *testing.T) {
	for wish, want := range map[string]string{"IfReady": "", "Skip": `"drain":"Skip"`, "perhaps": "refused"} {
		in := &shop{}
		_, c, base := before(t, kubetest.Serve(t, in))
		page, form := asked(t, c, base+"/do/ask/a")
		for _, words := range []string{
			"Node a is fenced as policy workers says, once somebody has approved it", "If the node still lives, its pods are asked to leave first",
			"Its pods are not asked to leave first.", `value="IfReady" checked`,
		} {
			if !strings.Contains(page, words) {
				t.Errorf("the page does not say %q: %s", words, page)
			}
		}
		status, page := sent(t, c, base+"/do/ask/a", form, "reason", "its fan screams", "drain", wish)
		if want == "refused" {
			if status != http.StatusUnprocessableEntity || len(in.wrote) > 0 {
				t.Errorf("%s: %d, written %s", wish, status, in.wrote)
			}
			continue
		}
		if status != http.StatusSeeOther || len(in.wrote) != 1 || !strings.Contains(in.wrote[0], "its fan screams") || strings.Contains(in.wrote[0], "drain") != (want != "") || !strings.Contains(in.wrote[0], want) {
			t.Errorf("%s: %d, written %s: %s", wish, status, in.wrote, page)
		}
	}
}

// TestAskOfAnotherNode: nothing is asked for of a Node that has come in place of the one that was shown.
func TestAskOfAnotherNode(t *testing.T) {
	in := &shop{node: "old"}
	_, c, base := before(t, kubetest.Serve(t, in))
	_, form := asked(t, c, base+"/do/ask/a")
	in.mu.Lock()
	in.node = "new"
	in.mu.Unlock()
	status, page := sent(t, c, base+"/do/ask/a", form, "reason", "its fan screams")
	if status != http.StatusConflict || len(in.wrote) > 0 || !strings.Contains(page, "has changed since it was shown") {
		t.Errorf("%d, written %s: %s", status, in.wrote, page)
	}
}

// TestEndCoolDown: a person says why, and the cool-down that was shown is ended.
func TestEndCoolDown(t *testing.T) {
	in := &shop{}
	_, c, base := before(t, kubetest.Serve(t, in))
	page, form := asked(t, c, base+"/do/end-cool-down/cluster")
	if !strings.Contains(page, "under policy workers, until 2126-01-01T12:00:00Z") {
		t.Errorf("the page does not say which: %s", page)
	}
	status, page := sent(t, c, base+"/do/end-cool-down/cluster", form, "reason", " ")
	if status != http.StatusUnprocessableEntity || len(in.wrote) > 0 || !strings.Contains(page, "Nothing was done: say why") {
		t.Errorf("without a reason: %d, written %s: %s", status, in.wrote, page)
	}
	status, page = sent(t, c, base+"/do/end-cool-down/cluster", form, "reason", "the switch is replaced")
	if status != http.StatusSeeOther || len(in.wrote) != 1 || !strings.Contains(in.wrote[0], `"reason":"the switch is replaced","until":"2126-01-01T12:00:00.000000Z"`) {
		t.Errorf("%d, written %s: %s", status, in.wrote, page)
	}
}

// TestTheAPIServersClock is that of the pages, and of what a person asks: here that of this machine is ten
// minutes fast.
func TestTheAPIServersClock(t *testing.T) {
	s, c, base := before(t, kubetest.Serve(t, &shop{off: -10 * time.Minute}))
	_, _ = asked(t, c, base+"/do/abort/a") // its clock is known from an answer
	_, form := asked(t, c, base+"/do/abort/a")
	loaded := regexp.MustCompile(`data-now="([^"]*)"`).FindStringSubmatch(body(t, c, base+"/"))
	if loaded == nil {
		t.Fatal("the page does not say the time to its script")
	}
	for what, now := range map[string]string{
		"a page": s.look().Now.Format(time.RFC3339), "what is asked": form.Get("at"), "a page's script": loaded[1], "and with news": first(t, c, base, "/").Now,
	} {
		at, err := time.Parse(time.RFC3339, now)
		if fast := time.Since(at); err != nil || fast < 5*time.Minute {
			t.Errorf("%s goes by the clock of this machine, which is fast: %s: %v", what, now, err)
		}
	}
}

// TestNothingWasDone: it looks like no success, and what was typed is still there; the name of the node
// is to be typed again.
func TestNothingWasDone(t *testing.T) {
	in := &shop{}
	_, c, base := before(t, kubetest.Serve(t, in))
	_, form := asked(t, c, base+"/do/confirm-off/a")
	status, page := sent(t, c, base+"/do/confirm-off/a", form, "typed", "b", "reason", "seen dark", "hardware", "yes")
	if status != http.StatusUnprocessableEntity || len(in.wrote) > 0 || strings.Contains(page, "note done") {
		t.Errorf("%d, written %s: %s", status, in.wrote, page)
	}
	for _, words := range []string{`<p class="note warn" role="alert">Nothing was done: what was typed is not the node's name, a.`, `name="reason" value="seen dark"`, `name="hardware" value="yes" checked`} {
		if !strings.Contains(page, words) {
			t.Errorf("the page has no %q: %s", words, page)
		}
	}
	if strings.Contains(page, `value="b"`) {
		t.Error("the wrong name is typed already")
	}
}
