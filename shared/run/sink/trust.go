package sink

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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
