package local

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
)

func archiveTrigger(name, uri string) string {
	return "apiVersion: eventing.knative.dev/v1\nkind: Trigger\nmetadata: {name: " + name + "}\n" +
		"spec:\n  broker: nodefence\n  filters:\n    - exact: {type: io.nodefence.fence.finished.v1}\n  subscriber: {uri: '" + uri + "'}\n"
}

// TestAMistakeInOutwardTriggersHoldsUpNoFence: the whole file is refused, in words that /readyz tells, and nodefence runs.
func TestAMistakeInOutwardTriggersHoldsUpNoFence(t *testing.T) {
	own, err := loadTriggers("")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text    string
		carried int
		words   string
	}{
		"no file":            {"", 0, ""},
		"one":                {archiveTrigger("archive", "http://10.0.0.7"), 1, ""},
		"one and a mistake":  {archiveTrigger("archive", "http://10.0.0.7") + "---\n" + archiveTrigger("other", "10.0.0.7"), 0, "spec.subscriber.uri: is not an http or https URL"},
		"one of our own":     {archiveTrigger("nodefence-gate", "http://10.0.0.7"), 0, `metadata.name: "nodefence-gate" is a Trigger of nodefence's own`},
		"nothing but spaces": {" \n", 0, "no Trigger in the file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "triggers.yaml")
			if c.text != "" {
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := loadOutward(path, own)
			if len(o.triggers) != c.carried || len(o.handlers) != c.carried || !strings.HasSuffix(o.words(), c.words) || (c.words == "") != (o.words() == "") {
				t.Errorf("%d Triggers, %q", len(o.triggers), o.words())
			}
		})
	}
}

// TestNoTokenLeavesTheProcess with an event (S29: no secret is shown).
func TestNoTokenLeavesTheProcess(t *testing.T) {
	got := make(chan string, 1)
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		_ = r.Write(b)
		got <- b.String()
	}))
	defer archive.Close()
	h, err := posterTo(archive.URL)
	if err != nil {
		t.Fatal(err)
	}
	e := event.New()
	e.SetID("1")
	e.SetSource("/me")
	e.SetType(events.RequestFence)
	e.SetSubject("a")
	_ = e.SetData(event.ApplicationJSON, map[string]string{"reason": "smoke", "token": "hunter2"})
	if _, err := h(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if text := <-got; strings.Contains(text, "hunter2") || !strings.Contains(text, "smoke") || !strings.Contains(text, "Ce-Type: "+events.RequestFence) {
		t.Error(text)
	}
}
