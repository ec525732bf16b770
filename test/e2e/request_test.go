package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// asker is a service account that may fence node-1 and nothing else.
const asker = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: rack-watch, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fence-node-1}
rules: [{apiGroups: [nodefence.io], resources: [nodefences], resourceNames: [node-1, node-2], verbs: [fence]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fence-node-1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fence-node-1}
subjects: [{kind: ServiceAccount, name: rack-watch, namespace: default}]
`

// trusting is a policy that believes two sources without a token.
var trusting = rig.Problems("trusting",
	"{name: west, cloudEvent: {source: /racks/west, brokerIsClosed: true}, action: Fence}",
	"{name: smart, cloudEvent: {source: /smart, brokerIsClosed: true}, threshold: {count: 2}, action: Fence}")

// TestRequests: who may start a fence of a healthy node by an event, and who may not (S18: no
// event is believed, S20: Kubernetes says who may ask, S29: no secret is shown).
func TestRequests(t *testing.T) {
	w := newWorld(t, 6, quick)
	a, p := w.asks()

	a.refused("without a token, from a source that nobody believes", "node-1", "/racks/east", "1", "", api.SourceNotBelieved)
	a.refused("with a token for another node", "node-1", "/me", "2", a.token("node-2", "2", 600), api.TokenRefused)
	a.refused("with a token for another event", "node-1", "/me", "3", a.token("node-1", "x", 600), api.TokenRefused)
	a.refused("with a token that has expired", "node-1", "/me", "4", a.expired("node-1", "4"), api.TokenRefused)
	a.refused("with a token that lives for an hour", "node-1", "/me", "5", a.token("node-1", "5", 3600), api.TokenRefused)
	a.refused("with a token of one who may not fence this node", "node-3", "/me", "6", a.token("node-3", "6", 600), api.NotAllowed)
	a.refused("made an hour ago", "node-1", "/racks/west", "7", "old", api.RequestTooOld)
	a.refused("as the first of two reports", "node-4", "/smart", "10", "", api.Reported)
	if reply, err := p.Handlers()["gate"](a.ctx, a.request("node-4", "/smart", "10", "")); reply != nil || err != nil {
		t.Errorf("the first report again: %v %v", reply, err)
	}
	for node, words := range map[string]string{"node-1": "", "node-3": "", "node-4": ""} {
		if f, err := w.Fences.Fence(w.ctx, node); err != nil || f != nil {
			t.Errorf("a refused request opened a record of %s (%v)", node, err)
		}
		w.words(node, words)
	}

	secret := a.token("node-1", "8", 600)
	a.post("node-1", "/me", "8", secret)
	a.post("node-2", "/racks/west", "9", "")
	one, two := w.phase("node-1", api.Finished), w.phase("node-2", api.Finished)
	if by := one.Status.Decision.AskedBy[0].User; by != "system:serviceaccount:default:rack-watch" {
		t.Errorf("asked for by %q", by)
	}
	if r := two.Status.Decision.AskedBy[0]; r.User != "" || r.Source != "/racks/west" {
		t.Errorf("asked for by %+v", r)
	}
	a.post("node-4", "/smart", "11", "")
	w.phase("node-4", api.Finished)
	a.again(p, "with a token that was used", "node-1", "/me", "8", secret)
	a.again(p, "with that token under another source", "node-1", "/else", "8", secret)
	a.again(p, "a second time, from a source that is believed", "node-2", "/racks/west", "9", "")
	for _, node := range []string{"node-1", "node-2"} {
		w.words(node, "off on")
		w.unmarked(node)
	}
	a.nowhere(p, secret)
}

type asking struct {
	*world
	url string
	dir string
}

// asks runs nodefence in a lab where asker may ask, and is asker.
func (w *world) asks() (asking, *rig.InProcess) {
	w.t.Helper()
	must(w.t, w.Apply(w.ctx, trusting))
	must(w.t, w.Apply(w.ctx, asker))
	dir := ""
	p := w.start(func(o *local.Options) { dir = o.DataDir })
	server := httptest.NewServer(p.HTTP())
	w.t.Cleanup(server.Close)
	return asking{world: w, url: server.URL, dir: dir}, p
}

// request is the event. A token "old" means no token, in a request of an hour ago.
func (a asking) request(node, source, id, token string) event.Event {
	a.t.Helper()
	at, body := time.Now(), events.Request{Reason: "smoke"}
	if token == "old" {
		at = at.Add(-time.Hour)
	} else {
		body.Token = token
	}
	e := event.New()
	e.SetType(events.RequestFence)
	e.SetSource(source)
	e.SetID(id)
	e.SetSubject(node)
	e.SetTime(at)
	must(a.t, e.SetData(event.ApplicationJSON, body))
	return e
}

// post sends the event as curl would.
func (a asking) post(node, source, id, token string) {
	a.t.Helper()
	e := a.request(node, source, id, token)
	req, err := cehttp.NewHTTPRequestFromEvent(a.ctx, a.url, e)
	must(a.t, err)
	r, err := http.DefaultClient.Do(req)
	must(a.t, err)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusAccepted {
		a.t.Errorf("request %s: %s", id, r.Status)
	}
}

// again hands the gate an event that it has already served. Another broker might do so, and the
// local one recognizes an ID for some minutes only.
func (a asking) again(p *rig.InProcess, name, node, source, id, token string) {
	a.t.Helper()
	f, err := a.Fences.Fence(a.ctx, node)
	must(a.t, err)
	reply, err := p.Handlers()["gate"](a.ctx, a.request(node, source, id, token))
	// A fence that is open and due is handed on, as by any event of its node.
	if err != nil || reply != nil && !(f.Open() && strings.HasPrefix(reply.ID(), fmt.Sprintf("%s.%d.", f.UID, f.Status.FenceNumber))) {
		a.t.Errorf("%s: %v %v", name, reply, err)
	}
	a.said(name, node, id, api.RequestServedAlready)
}

// refused posts a request and waits for the three places that report a refusal: the log, the
// metric and an Event on the Node.
func (a asking) refused(name, node, source, id, token string, why api.Reason) {
	a.t.Helper()
	metric := `nodefence_requests_refused_total{reason="` + string(why) + `"}`
	before := string(get(a.t, a.url+"/metrics"))
	a.post(node, source, id, token)
	a.until("the request "+name+" to be refused", func() (bool, error) {
		return value(string(get(a.t, a.url+"/metrics")), metric) > value(before, metric), nil
	})
	a.said(name, node, id, why)
}

// said checks that an Event on the Node and the log name the reason. The Event is posted last.
func (a asking) said(name, node, id string, why api.Reason) {
	a.t.Helper()
	a.until("an Event on "+node+" that says "+string(why)+" of the request "+name, func() (bool, error) {
		list, err := a.Kube.CoreV1().Events(metav1.NamespaceDefault).List(a.ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Node,involvedObject.name=" + node})
		return err == nil && hasEvent(list.Items, string(why), id), err
	})
	for l := range bytes.Lines(a.log.Bytes()) {
		if bytes.Contains(l, []byte(`"msg":"refused"`)) && bytes.Contains(l, []byte(`"event":"`+id+`"`)) && bytes.Contains(l, []byte(why)) {
			return
		}
	}
	a.t.Errorf("%s: no line of the log says %s", name, why)
}

// nowhere checks that the token is in no log, object, record or file (S29).
func (a asking) nowhere(p *rig.InProcess, token string) {
	a.t.Helper()
	if bytes.Contains(a.log.Bytes(), []byte(token)) {
		a.t.Error("the log holds the token")
	}
	all, err := p.Broker.Events(a.ctx)
	must(a.t, err)
	objects, err := a.Fences.Fences(a.ctx)
	must(a.t, err)
	kept, err := json.Marshal([]any{all, objects})
	must(a.t, err)
	if bytes.Contains(kept, []byte(token)) {
		a.t.Error("an event or an object holds the token")
	}
	p.Stop()
	must(a.t, filepath.WalkDir(a.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(token)) {
			a.t.Errorf("%s holds the token", path)
		}
		return err
	}))
}

func hasEvent(all []corev1.Event, reason, id string) bool {
	for _, e := range all {
		if e.Reason == reason && strings.Contains(e.Message, "event "+id+" of") && strings.HasPrefix(e.Message, "[fence] ") {
			return true
		}
	}
	return false
}

func value(metrics, name string) string {
	for l := range strings.Lines(metrics) {
		if strings.HasPrefix(l, name) {
			return strings.TrimSpace(strings.TrimPrefix(l, name))
		}
	}
	return ""
}

// token is a token of the service account, for one event about one node.
func (a asking) token(node, id string, seconds int64) string {
	a.t.Helper()
	r, err := a.Kube.CoreV1().ServiceAccounts("default").CreateToken(a.ctx, "rack-watch", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{events.Audience(node, id)}, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	must(a.t, err)
	return r.Status.Token
}

// expired is such a token, signed with the cluster's own key, which expired an hour ago.
func (a asking) expired(node, id string) string {
	a.t.Helper()
	live := strings.Split(a.token(node, id, 600), ".")
	raw, err := base64.RawURLEncoding.DecodeString(live[1])
	must(a.t, err)
	var claims map[string]any
	must(a.t, json.Unmarshal(raw, &claims))
	hour := 3600.0
	for _, k := range []string{"iat", "nbf", "exp"} {
		claims[k] = claims[k].(float64) - hour
	}
	raw, err = json.Marshal(claims)
	must(a.t, err)
	return a.sign(live[0] + "." + base64.RawURLEncoding.EncodeToString(raw))
}

func (a asking) sign(what string) string {
	a.t.Helper()
	var key *ecdsa.PrivateKey
	must(a.t, filepath.WalkDir(filepath.Dir(a.Lab.Kubeconfig), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "service-account.key" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(b)
		k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = k.(*ecdsa.PrivateKey)
		if err != nil {
			key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		return err
	}))
	if key == nil {
		a.t.Fatal("the lab's signing key was not found")
	}
	sum := sha256.Sum256([]byte(what))
	r, v, err := ecdsa.Sign(rand.Reader, key, sum[:])
	must(a.t, err)
	sig := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	return what + "." + base64.RawURLEncoding.EncodeToString(sig)
}
