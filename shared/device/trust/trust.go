package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// Params are a driver's parameters for this, with the names that agents use.
func Params() []device.Param {
	return []device.Param{
		{Name: "ca", Doc: "certificates to believe, PEM in one line; the system's own if not given"},
		{Name: "ssl", Doc: "1, which is what is done anyhow"},
		{Name: "ssl_secure", Doc: "1, which is what is done anyhow"},
		{Name: "ssl_insecure", Doc: "1 believes any certificate, and so whoever answers"},
	}
}

// Config reads them.
func Config(p map[string]string) (*tls.Config, error) {
	flags := map[string]bool{"ssl": true, "ssl_secure": true, "ssl_insecure": false}
	for _, name := range []string{"ssl", "ssl_secure", "ssl_insecure"} {
		if p[name] == "" {
			continue
		}
		var err error
		if flags[name], err = flag(name, p[name]); err != nil {
			return nil, err
		}
	}
	insecure := flags["ssl_insecure"]
	switch {
	case !flags["ssl"]:
		return nil, errors.New("ssl is off: without TLS anybody can say that a machine is off; leave it out")
	case !flags["ssl_secure"] && !insecure:
		return nil, errors.New("ssl_secure is off: to believe any certificate write ssl_insecure=1")
	case p["ssl_secure"] != "" && flags["ssl_secure"] && insecure:
		return nil, errors.New("ssl_secure and ssl_insecure are both on; delete one of them")
	case p["ca"] != "" && insecure:
		return nil, errors.New("ca has no meaning with ssl_insecure; delete one of them")
	case p["ca"] == "":
		return &tls.Config{InsecureSkipVerify: insecure}, nil // the operator's explicit setting
	}
	pool, err := pool(p["ca"])
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: pool}, nil
}

func flag(name, s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "yes", "on", "true":
		return true, nil
	case "0", "no", "off", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s %q is not 1 or 0", name, s)
}

const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"

// pool reads PEM whose line breaks may have become blanks, \n or nothing: a line of a
// ConfigMap holds one line.
func pool(text string) (*x509.CertPool, error) {
	all := x509.NewCertPool()
	rest := strings.Join(strings.Fields(strings.NewReplacer(`\r`, " ", `\n`, " ").Replace(text)), " ")
	for n := 1; rest != ""; n++ {
		body, ok := strings.CutPrefix(rest, begin)
		body, after, ended := strings.Cut(body, end)
		if !ok || !ended {
			return nil, errors.New("ca is not PEM: " + begin + " to " + end + ", as often as there are certificates, and nothing else")
		}
		der, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, " ", ""))
		if err != nil {
			return nil, fmt.Errorf("ca: certificate %d is not base64", n)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("ca: read certificate %d: %w", n, err)
		}
		all.AddCert(cert)
		rest = strings.TrimSpace(after)
	}
	return all, nil
}

// maxHeader bounds what is read before a body.
const maxHeader = 64 << 10

// Transport calls a device directly, whatever proxy the environment names, and by HTTP/1,
// in which the library never repeats a command. Nothing is sent after a call has ended.
func Transport(cfg *tls.Config) *http.Transport {
	t := &http.Transport{
		DialContext: Dial, TLSClientConfig: cfg.Clone(), MaxResponseHeaderBytes: maxHeader, Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Dial connects to a device. If the connection is closed before the device has acknowledged
// everything, or this process dies, the system drops what is left. It would go on sending that for
// up to two minutes otherwise: a command could arrive long after its claim is over (S8).
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetLinger(0)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Lost describes why a request has no answer.
func Lost(err error) string {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	if words, ok := why(err); ok {
		return words
	}
	return err.Error()
}

// why describes what is wrong with a certificate, if the error is about one.
func why(err error) (string, bool) {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		other   *tls.CertificateVerificationError
		plain   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "its certificate is signed by nobody who is trusted; give the signer's certificate in ca", true
	case errors.As(err, &name):
		return "its certificate is for another name: " + name.Error() + "; use that name, or give the device a certificate for this one", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired or is not yet valid: " + invalid.Detail, true
	case errors.As(err, &other):
		return "its certificate is not valid: " + other.Err.Error(), true
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS at this port", true
	case hasNoCommonCipher(err):
		return "it and nodefence have no TLS version and cipher in common: nodefence takes TLS 1.2 and newer, and no cipher with RSA key exchange; have the device offer TLS 1.2 with an ECDHE cipher, by its settings or newer firmware", true
	}
	return "", false
}

// hasNoCommonCipher tells whether a handshake failed before any certificate was seen. crypto/tls has
// no type for it.
func hasNoCommonCipher(err error) bool {
	for _, words := range []string{"tls: handshake failure", "tls: protocol version not supported", "tls: insufficient security level", "tls: server selected unsupported protocol version", "tls: server chose an unconfigured cipher suite"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}
