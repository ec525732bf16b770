package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Settings are OpenTelemetry's own variables, as far as nodefence heeds them. Besides these the SDK
// reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
type Settings struct {
	// Endpoint is the collector's URL, to which /v1/traces is added; TracesEndpoint is the whole
	// URL, and wins. Without either there are no traces.
	Endpoint       string `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	TracesEndpoint string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`
	// Headers are sent with each request: name=value, by commas, each value percent-encoded.
	Headers       string `envconfig:"OTEL_EXPORTER_OTLP_HEADERS"`
	TracesHeaders string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_HEADERS"`
	// Certificate is a file of certificates by which the collector is trusted; the system's if empty.
	Certificate       string `envconfig:"OTEL_EXPORTER_OTLP_CERTIFICATE"`
	TracesCertificate string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"`
	// Protocol can only be http/protobuf.
	Protocol       string `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL"`
	TracesProtocol string `envconfig:"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"`
	// Sampler says which traces are kept, and SamplerArg which part of them; all if empty.
	Sampler    string `envconfig:"OTEL_TRACES_SAMPLER"`
	SamplerArg string `envconfig:"OTEL_TRACES_SAMPLER_ARG"`
	// Disabled switches traces off whatever else is set. Only true does, in capitals or not.
	Disabled string `envconfig:"OTEL_SDK_DISABLED"`
}

// On tells whether there are to be traces.
func (s Settings) On() bool {
	return !strings.EqualFold(strings.TrimSpace(s.Disabled), "true") && s.Endpoint+s.TracesEndpoint != ""
}

// uploadTimeout bounds one request to the collector.
const uploadTimeout = 5 * time.Second

// client is the sender of spans that these settings say. Its error names the variable.
func (s Settings) client() (*client, error) {
	c := &client{headers: http.Header{}}
	var err error
	if c.url, err = s.url(); err != nil {
		return nil, err
	}
	if name, p := either("PROTOCOL", s.TracesProtocol, s.Protocol); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("read %s: %q is not sent by nodefence: set http/protobuf, and a port that takes it, such as 4318", name, p)
	}
	name, headers := either("HEADERS", s.TracesHeaders, s.Headers)
	for h := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(h) == "" {
			continue
		}
		key, value, is := strings.Cut(h, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !is || err != nil || strings.TrimSpace(key) == "" || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("read %s: want name=value by commas, each value percent-encoded", name) // the value may be a secret
		}
		c.headers.Add(strings.TrimSpace(key), value)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if name, file := either("CERTIFICATE", s.TracesCertificate, s.Certificate); file != "" {
		roots, err := rootsIn(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w: name a file of certificates in PEM that this process can read", name, err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	here := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // another server gets no key
	c.http = &http.Client{Transport: transport, Timeout: uploadTimeout, CheckRedirect: here}
	return c, nil
}

// url is where spans are posted to.
func (s Settings) url() (string, error) {
	name, at := either("ENDPOINT", s.TracesEndpoint, s.Endpoint)
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("read %s: want an http or https URL, such as http://collector:4318", name) // the value may have a secret
	}
	if s.TracesEndpoint == "" {
		u = u.JoinPath("v1", "traces")
	}
	return u.String(), nil
}

// either is the setting for traces or, if that is empty, the one for all signals, and its name.
func either(name, traces, all string) (variable, value string) {
	if traces != "" {
		return "OTEL_EXPORTER_OTLP_TRACES_" + name, traces
	}
	return "OTEL_EXPORTER_OTLP_" + name, all
}

func rootsIn(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New(file + " has no certificate in PEM")
	}
	return roots, nil
}
