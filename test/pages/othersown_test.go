package pages

import (
	"regexp"
	"testing"
)

// othersOwn are fields that belong to people and tools beside the owner of an object.
var othersOwn = regexp.MustCompile(`(^|[{,\s"])(pauseRequests|pauseChanged|stop|stopChanged|coolDownEnded|restoreConfirmed|lost)"?\s*:`)

// TestNoPageSetsWhatOthersOwn: a manifest that somebody copies from a page, and applies again, takes no pause and no
// stop away (S17: a fence that a pause or a stop holds does not begin).
func TestNoPageSetsWhatOthersOwn(t *testing.T) {
	n := 0
	for _, b := range all(t) {
		if c := b.Class(); c != Manifest && c != PolicyPart {
			continue
		}
		n++
		if field := othersOwn.FindString(b.Text); field != "" {
			t.Errorf("%s sets%s which belongs to others", b.At(), field)
		}
	}
	if n < 20 {
		t.Errorf("only %d manifests were found", n)
	}
}
