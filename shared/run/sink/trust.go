package sink

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// trusting is a client that trusts the certificates of the settings and files.
type trusting struct {
	o       Options
	timeout time.Duration
	client  atomic.Pointer[http.Client]
}

// connectAnew makes a new client that trusts the present certificates.
func (c *trusting) connectAnew() error {
	pool, err := roots(c.o.CACerts, c.o.TrustBundles)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	transport.MaxResponseHeaderBytes = maxHeader
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	old := c.client.Swap(&http.Client{
		Transport: transport, Timeout: c.timeout,
		// A redirect would let another server choose where events, and the token, go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	if old != nil {
		old.CloseIdleConnections()
	}
	return nil
}

// doubted reads the certificate files again after a request failed because the sink's
// certificate was not trusted: the files change while the program runs. That request sent
// nothing.
func (c *trusting) doubted(err error) (anew bool, _ error) {
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) {
		return false, err
	}
	if rerr := c.connectAnew(); rerr != nil {
		return false, errors.Join(err, rerr)
	}
	return true, err
}

// roots are the trusted certificates for a sink: the system's, those in a folder, and those
// that are set. Only the last must be valid: the folder is the cluster's, and one bad file
// in it must not stop every source.
func roots(given, folder string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if folder != "" {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if raw, err := os.ReadFile(path); err == nil {
				pool.AppendCertsFromPEM(raw)
			}
			return nil
		})
	}
	if strings.TrimSpace(given) == "" {
		return pool, nil
	}
	certs, err := certificates([]byte(given))
	if err != nil {
		return nil, fmt.Errorf("read K_CA_CERTS: %w", err)
	}
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// certificates reads all certificates or fails: half a list would show up only when a
// missing certificate is needed.
func certificates(raw []byte) ([]*x509.Certificate, error) {
	blocks := strings.Count(string(raw), "-----BEGIN ")
	var all []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s; it must hold certificates only", strings.ToLower(block.Type))
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("it holds no certificate in PEM")
	case len(all) != blocks:
		return nil, fmt.Errorf("it begins %d certificates in PEM, of which %d can be read", blocks, len(all))
	}
	return all, nil
}
