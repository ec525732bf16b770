package kubetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/kube"
)

// Serve runs a server until the test ends, and returns what reaches it.
func Serve(t testing.TB, answers http.Handler) *rest.Config {
	t.Helper()
	s := httptest.NewServer(answers)
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

// Client is a client of a server with these answers.
func Client(t testing.TB, answers http.Handler) *kube.Client {
	t.Helper()
	c, err := kube.New(Serve(t, answers))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// SynctestClient is a client for a test with a fake clock (testing/synctest): it asks the answers
// without a network, for which a fake clock would wait for ever. Its time is that of the test.
func SynctestClient(t testing.TB, answers http.Handler) *kube.Client {
	t.Helper()
	start := time.Now()
	c, err := kube.NewAt(&rest.Config{Host: "http://kubetest", Transport: direct{answers}}, func() time.Duration { return time.Since(start) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// direct gives a handler's answers to a client in the same process.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	if err := r.Context().Err(); err != nil { // the client has stopped waiting
		return nil, err
	}
	return answer.Result(), nil
}

// Table answers reads with these objects, by their paths: text as it is, all else as JSON. For
// any other path it answers that the object is not found. Another handler takes the writes, if
// there are any.
func Table[O any](objects map[string]O, writes http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, ok := objects[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && writes != nil:
			writes(w, r)
		case r.Method != http.MethodGet:
			Refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
		case !ok:
			Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		default:
			Answer(w, o)
		}
	}
}

// Answer is an object, or JSON as text.
func Answer(w http.ResponseWriter, object any) { answer(w, http.StatusOK, object) }

// Refuse is a refusal by an API server.
func Refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	answer(w, int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: code,
	})
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if text, ok := object.(string); ok {
		_, _ = io.WriteString(w, text) // the client may have gone away
		return
	}
	_ = json.NewEncoder(w).Encode(object)
}

// Merge is what a merge patch makes of an object (RFC 7386).
func Merge(into, patch map[string]any) map[string]any {
	if into == nil {
		into = map[string]any{}
	}
	for k, v := range patch {
		inner, isObject := v.(map[string]any)
		was, _ := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isObject:
			into[k] = Merge(was, inner)
		default:
			into[k] = v
		}
	}
	return into
}
