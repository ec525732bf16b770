package eks

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster names an EKS cluster and its address, as `aws eks describe-cluster` reports them. They
// are configured, and not asked for at the start of a function. So a function needs one
// permission less, and one call less can fail.
type Cluster struct {
	Name string `envconfig:"NODEFENCE_EKS_CLUSTER"`
	// Endpoint is its API server, an https URL.
	Endpoint string `envconfig:"NODEFENCE_EKS_ENDPOINT"`
	// CA is its certificate authority, PEM in base64 as EKS gives it.
	CA string `envconfig:"NODEFENCE_EKS_CA"`
}

// Or connects to the cluster if one is named, as the role that the environment gives this
// process. Otherwise it connects to the cluster that a kubeconfig names or, without a kubeconfig,
// to the pod's own.
func (c Cluster) Or(ctx context.Context, kubeconfig string) (*rest.Config, error) {
	if c.Name != "" && kubeconfig != "" {
		return nil, errors.New("both NODEFENCE_EKS_CLUSTER and KUBECONFIG are set: name one cluster")
	}
	if c.Name == "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	return c.Config(cfg)
}

// Config connects to the cluster as the role that the AWS configuration names.
func (c Cluster) Config(cfg aws.Config) (*rest.Config, error) {
	ca, err := c.check()
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("EKS cluster %s: no region, set AWS_REGION", c.Name)
	}
	if cfg.Credentials == nil {
		return nil, fmt.Errorf("EKS cluster %s: no AWS credentials", c.Name)
	}
	host, _ := url.Parse(c.Endpoint) // check has read it
	t := &tokens{cluster: c.Name, region: cfg.Region, credentials: cfg.Credentials, now: time.Now}
	return &rest.Config{
		Host:            c.Endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return &bearer{tokens: t, host: host.Host, next: next}
		},
	}, nil
}

func (c Cluster) check() (ca []byte, err error) {
	if c.Name == "" {
		return nil, errors.New("NODEFENCE_EKS_CLUSTER is not set: it is the EKS cluster's name")
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("NODEFENCE_EKS_ENDPOINT=%s is not the https URL of the API server of %s", c.Endpoint, c.Name)
	}
	ca, err = base64.StdEncoding.DecodeString(strings.TrimSpace(c.CA))
	if err != nil || !strings.Contains(string(ca), "-----BEGIN CERTIFICATE-----") {
		return nil, fmt.Errorf("NODEFENCE_EKS_CA is not the certificate authority of %s, PEM in base64 as EKS gives it", c.Name)
	}
	return ca, nil
}

// bearer signs requests to one host.
type bearer struct {
	tokens *tokens
	host   string
	next   http.RoundTripper
}

// RoundTrip adds the token. A redirect to another host gets none.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != b.host {
		return b.next.RoundTrip(r)
	}
	token, err := b.tokens.get(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context()) // a RoundTripper must leave its request alone
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := b.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		b.tokens.drop(token)
	}
	return resp, err
}
