package networkfence_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/clustertest"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/networkfence"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	list      = "/apis/csiaddons.openshift.io/v1alpha1/networkfences"
	path      = list + "/nodefence-10-0-0-7-05d9e8e1"
	finalizer = "csiaddons.openshift.io/network-fence"
	token     = "eyJhbGciOiJSUzI1NiIsImtpZCI6InNlY3JldCJ9"
)

// served is a cluster with csi-addons, and one machine that uses its storage. The
// controller does what that of csi-addons does, v0.12.0, as far as it is seen from
// outside, and may misbehave.
type served struct {
	clustertest.Server
	devicetest.Fault
	url string
	// asked, if set, sees each request.
	asked func(method string)

	mu     sync.Mutex
	access bool
	ended  chan struct{}
}

// serve ends with t.
func serve(t testing.TB) *served {
	t.Helper()
	s := &served{Server: clustertest.Server{Kinds: []string{list}, Token: token}, access: true, ended: make(chan struct{})}
	s.Changed = func(string) { s.reconcile() }
	srv := httptest.NewServer(s)
	t.Cleanup(func() { close(s.ended); srv.Close() })
	s.url = srv.URL
	return s
}

func (s *served) setFault(t testing.TB, fault string) {
	t.Helper()
	was := s.Play(fault)
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		s.Refuse(m, clustertest.Refusal{})
	}
	no := clustertest.Refusal{Code: 422, Reason: "Invalid", Message: "NetworkFence is invalid:\n no quota"}
	broken := clustertest.Refusal{Code: 500, Reason: "InternalError", Message: "an error on the server"}
	switch fault {
	case devicetest.Refuse:
		s.Refuse(http.MethodPost, no)
		s.Refuse(http.MethodPut, no)
	case devicetest.Mute:
		for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			s.Refuse(m, broken)
		}
	case devicetest.Stopping:
		s.Put(t, path, ours(`"generation": 1`, "Fenced", `{}`))
	case devicetest.None:
		if was == devicetest.Lie {
			s.Control(path, func(d clustertest.Doc) { delete(d, "status") })
		}
	}
}

// ours is an object as the driver makes it, later.
func ours(meta, state, status string) string {
	return `{"apiVersion": "csiaddons.openshift.io/v1alpha1", "kind": "NetworkFence",
		"metadata": {"name": "nodefence-10-0-0-7-05d9e8e1", "labels": {"app.kubernetes.io/managed-by": "nodefence"}, "finalizers": ["` + finalizer + `"], ` + meta + `},
		"spec": {"driver": "rbd.csi.example", "fenceState": "` + state + `", "cidrs": ["10.0.0.7/32"], "secret": {"name": "csi", "namespace": "rook"}, "parameters": {"clusterID": "rook"}},
		"status": ` + status + `}`
}

// reconcile is csi-addons: it holds the object with a finalizer, tells the CSI
// driver what is wished, and writes the result. A deletion only takes the
// finalizer off.
func (s *served) reconcile() {
	if s.Is(devicetest.AcceptAndIgnore, devicetest.Slow) {
		return
	}
	s.carryOut(!s.Is(devicetest.Early, devicetest.Lie))
}

func (s *served) carryOut(really bool) {
	s.Control(path, func(d clustertest.Doc) {
		m := clustertest.Meta(d)
		if m["deletionTimestamp"] != nil {
			delete(m, "finalizers")
			return
		}
		m["finalizers"] = []any{finalizer}
		cut := clustertest.Part(d, "spec")["fenceState"] == "Fenced"
		said := map[bool]string{true: "fencing operation successful", false: "unfencing operation successful"}[cut]
		d["status"] = clustertest.Doc{"result": "Succeeded", "message": said}
		if really {
			s.mu.Lock()
			s.access = !cut
			s.mu.Unlock()
		}
	})
}

func (s *served) settle() { s.carryOut(true) }

func (s *served) on() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.asked != nil {
		s.asked(r.Method)
	}
	switch {
	case s.Is(devicetest.Hang):
		devicetest.Silence(r, s.ended)
	case s.Is(devicetest.WrongPassword):
		(&clustertest.Server{Kinds: s.Kinds, Token: "another"}).ServeHTTP(w, r)
	case s.Is(devicetest.ResetConnection) && r.Method != http.MethodGet:
		s.Server.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		s.Server.ServeHTTP(w, r)
	}
}

// told is in the suite's words.
func (s *served) told() []string {
	var words []string
	for _, w := range s.Writes() {
		state := clustertest.Part(w.Doc, "spec")["fenceState"]
		switch {
		case w.Method == http.MethodPost && state == "Fenced":
			words = append(words, "off")
		case w.Method == http.MethodPut && state == "Unfenced":
			words = append(words, "on")
		case w.Method != http.MethodDelete:
			words = append(words, w.Method)
		}
	}
	return words
}

func params(more map[string]string) map[string]string {
	p := map[string]string{"driver": "rbd.csi.example", "cluster_id": "rook", "cidrs": "10.0.0.7", "csi_secret_name": "csi", "csi_secret_namespace": "rook"}
	maps.Copy(p, more)
	return p
}

func dial(t testing.TB, url string) device.Driver {
	t.Helper()
	c, err := kube.New(&rest.Config{Host: url, BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	d, err := networkfence.Kind(c.ForDrivers()).Open(params(nil))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
