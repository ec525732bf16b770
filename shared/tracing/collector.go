package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
)

// uploadTimeout bounds one request to the collector.
const uploadTimeout = 5 * time.Second

// collector returns OpenTelemetry's exporter to the collector that the settings name. It sends a batch
// once, because the queue counts what is lost. The error names the variable that is wrong.
func (s Settings) collector(ctx context.Context) (*otlptrace.Exporter, error) {
	url, err := s.url()
	if err != nil {
		return nil, err
	}
	if name, p := either("PROTOCOL", s.TracesProtocol, s.Protocol); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("read %s: %q is not sent by nodefence: set http/protobuf, and a port that takes it, such as 4318", name, p)
	}
	headers, err := s.headers()
	if err != nil {
		return nil, err
	}
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	// OpenTelemetry logs the text of a variable that it cannot read, which may be a secret.
	otel.SetLogger(logr.Discard())
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: statusOnly{transport}, Timeout: uploadTimeout}),
		otlptracehttp.WithTLSClientConfig(nil), // the transport has the certificates
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
}

// transport trusts the certificates that the settings name, and heeds the proxy that the environment names.
func (s Settings) transport() (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	name, file := either("CERTIFICATE", s.TracesCertificate, s.Certificate)
	if file == "" {
		return transport, nil
	}
	roots, err := rootsIn(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: name a file of certificates in PEM that this process can read", name, err)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return transport, nil
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

// statusOnly makes an error of each answer but success, with the status alone. A body may repeat a key of
// the request, and a redirect would take the key to another server.
type statusOnly struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s statusOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode/100 != 2 {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the collector answered %s", resp.Status)
	}
	return resp, err
}
