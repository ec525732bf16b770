package eks

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/kube"
)

// server is an API server that accepts the tokens that EKS would accept.
func server(t *testing.T, refuse func(token string) bool) (*httptest.Server, Cluster) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := verify(token, "prod", secret, time.Now()); err != nil || refuse(token) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, Cluster{Name: "prod", Endpoint: s.URL, CA: base64.StdEncoding.EncodeToString(ca)}
}

func connect(t *testing.T, c Cluster) *rest.Config {
	t.Helper()
	cfg, err := c.Config(aws.Config{Region: "eu-central-1", Credentials: &keys{}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheAPIServerLetsUsIn(t *testing.T) {
	_, cluster := server(t, func(string) bool { return false })
	client, err := kube.New(connect(t, cluster))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ready(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestARefusedTokenIsNotUsedAgain: the next request brings a new one.
func TestARefusedTokenIsNotUsedAgain(t *testing.T) {
	var seen atomic.Int64
	_, cluster := server(t, func(string) bool { return seen.Add(1) == 1 })
	k := &keys{}
	cfg, err := cluster.Config(aws.Config{Region: "eu-central-1", Credentials: k})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kube.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ready(context.Background()); err == nil {
		t.Error("the first request was let in")
	}
	for range 2 {
		if err := client.Ready(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if k.asked != 2 {
		t.Errorf("%d tokens were made, want 2", k.asked)
	}
}

func TestARedirectGetsNoToken(t *testing.T) {
	var got atomic.Value
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
	}))
	defer other.Close()
	_, cluster := server(t, func(string) bool { return false })
	rt := connect(t, cluster).WrapTransport(other.Client().Transport)
	req, err := http.NewRequest(http.MethodGet, other.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got.Load() != "" {
		t.Errorf("another host was sent %q", got.Load())
	}
}

func TestWhatIsWrongIsSaidAtStart(t *testing.T) {
	_, good := server(t, nil)
	conf := aws.Config{Region: "eu-central-1", Credentials: &keys{}}
	for name, c := range map[string]struct {
		change func(*Cluster, *aws.Config)
		err    string
	}{
		"nothing":        {func(*Cluster, *aws.Config) {}, ""},
		"no name":        {func(c *Cluster, _ *aws.Config) { c.Name = "" }, "NODEFENCE_EKS_CLUSTER is not set: it is the EKS cluster's name"},
		"no endpoint":    {func(c *Cluster, _ *aws.Config) { c.Endpoint = "" }, "NODEFENCE_EKS_ENDPOINT= is not the https URL of the API server of prod"},
		"in plain text":  {func(c *Cluster, _ *aws.Config) { c.Endpoint = "http://x" }, "NODEFENCE_EKS_ENDPOINT=http://x is not the https URL of the API server of prod"},
		"no CA":          {func(c *Cluster, _ *aws.Config) { c.CA = "" }, "NODEFENCE_EKS_CA is not the certificate authority of prod, PEM in base64 as EKS gives it"},
		"PEM as it is":   {func(c *Cluster, _ *aws.Config) { c.CA = "-----BEGIN CERTIFICATE-----" }, "NODEFENCE_EKS_CA is not the certificate authority of prod, PEM in base64 as EKS gives it"},
		"no region":      {func(_ *Cluster, a *aws.Config) { a.Region = "" }, "EKS cluster prod: no region, set AWS_REGION"},
		"no credentials": {func(_ *Cluster, a *aws.Config) { a.Credentials = nil }, "EKS cluster prod: no AWS credentials"},
	} {
		cluster, a := good, conf
		c.change(&cluster, &a)
		_, err := cluster.Config(a)
		if got := text(err); got != c.err {
			t.Errorf("%s: got %q, want %q", name, got, c.err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
