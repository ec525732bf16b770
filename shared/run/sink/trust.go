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

// trusting is a client that trusts whom the settings and files name.
type trusting struct {
	o       Options
	timeout time.Duration
	client  atomic.Pointer[http.Client]
}

// connectAnew trusts whom the settings and files name at this moment.
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
		// Who follows a redirect takes another's word for where events, and the
		// token, go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	if old != nil {
		old.CloseIdleConnections()
	}
	return nil
}

// doubted reads the files with certificates again if a request failed because the other
// side was not trusted: they change while the program runs. Nothing was sent then.
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

// roots are the certificates by which a sink is trusted: the system's, those in
// a folder, and those given. Only what was given has to be right: the folder is
// the cluster's, and one bad file in it must not stop every source.
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

// certificates takes all or nothing: half a list would be found out when the
// half that is missing signs.
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
