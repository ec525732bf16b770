package local

import (
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestABusyAPIServerIsAskedAgain: a start repeats a request without an answer for a minute. An error that the API server
// answers ends the start at once.
func TestABusyAPIServerIsAskedAgain(t *testing.T) {
	lists := func(w http.ResponseWriter) { kubetest.Answer(w, &api.FencePolicyList{}) }
	for name, c := range map[string]struct {
		late   int // requests that get no answer in time
		answer func(http.ResponseWriter)
		asked  int // 0 is any number
		fails  bool
	}{
		"it answers":               {0, lists, 1, false},
		"it answers late":          {2, lists, 3, false},
		"it never answers":         {100, lists, 0, true},
		"it does not know of them": {0, func(w http.ResponseWriter) { kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound) }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, time.Now()
				client := kubetest.SynctestClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					if asked <= c.late {
						<-r.Context().Done()
						return
					}
					c.answer(w)
				}))
				err := installed(t.Context(), client, slog.New(slog.DiscardHandler))
				if (err != nil) != c.fails || c.asked > 0 && asked != c.asked {
					t.Errorf("asked %d times, want %d: %v", asked, c.asked, err)
				}
				if took := time.Since(began); took > 75*time.Second {
					t.Errorf("the start was given up after %s", took)
				}
			})
		})
	}
}
