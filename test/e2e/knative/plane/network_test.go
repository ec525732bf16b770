package plane

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestParseServiceName(t *testing.T) {
	for name, tc := range map[string]struct {
		host string
		want service
		bad  bool
	}{
		"in full":            {host: "a.b.svc.cluster.local", want: service{"b", "a"}},
		"without the domain": {host: "a.b.svc", want: service{"b", "a"}},
		"name and namespace": {host: "a.b", want: service{"b", "a"}},
		"a name alone":       {host: "a", bad: true},
		"of the world":       {host: "www.example.com", bad: true},
		"an address":         {host: "192.0.2.1", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(tc.host)
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestProxy: the Host header arrives as it was sent, external names are followed,
// and what is dead or unknown answers nothing at all.
func TestProxy(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Host+" "+r.URL.Path+" "+string(body))
	}))
	defer echo.Close()
	channel := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "try", Name: "b-channel"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "real.other.svc.cluster.local"},
	}
	n := newNames(fake.NewSimpleClientset(channel))
	n.set(service{"other", "real"}, toAddress(strings.TrimPrefix(echo.URL, "http://")))
	n.set(service{"other", "dead"}, func(context.Context) (net.Conn, error) { return nil, errors.New("connection refused") })
	server := newProxy(n)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})}}

	for name, tc := range map[string]struct{ url, want string }{
		"a Service":         {"http://real.other.svc.cluster.local/x", "real.other.svc.cluster.local /x hello"},
		"an external name":  {"http://b-channel.try.svc.cluster.local/", "b-channel.try.svc.cluster.local / hello"},
		"a dead process":    {"http://dead.other.svc.cluster.local/", ""},
		"no such Service":   {"http://none.other.svc.cluster.local/", ""},
		"not a cluster one": {"http://www.example.com/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			r, err := client.Post(tc.url, "text/plain", strings.NewReader("hello"))
			if err == nil {
				b, _ := io.ReadAll(r.Body)
				_ = r.Body.Close()
				got = string(b)
			}
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
