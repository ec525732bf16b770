package trust_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device/trust"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
)

// TestConfig: only the operator's explicit setting makes the driver trust any certificate.
func TestConfig(t *testing.T) {
	const notPEM = "ca is not PEM: -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----, as often as there are certificates, and nothing else"
	pem := trusttest.New(t).PEM
	line := strings.TrimSpace(pem)
	for name, tc := range map[string]struct {
		params   map[string]string
		insecure bool
		err      string
	}{
		"nothing":                        {},
		"ssl":                            {params: map[string]string{"ssl": "1", "ssl_secure": "yes"}},
		"without TLS":                    {params: map[string]string{"ssl": "no"}, err: "ssl is off: without TLS anybody can say that a machine is off; leave it out"},
		"without TLS, and insecure":      {params: map[string]string{"ssl": "0", "ssl_insecure": "1"}, err: "ssl is off: without TLS anybody can say that a machine is off; leave it out"},
		"insecure":                       {params: map[string]string{"ssl_insecure": "on"}, insecure: true},
		"insecure as agents have it":     {params: map[string]string{"ssl": "1", "ssl_insecure": "TRUE"}, insecure: true},
		"not insecure":                   {params: map[string]string{"ssl_insecure": "0"}},
		"not secure, which says no more": {params: map[string]string{"ssl_secure": "0"}, err: "ssl_secure is off: to believe any certificate write ssl_insecure=1"},
		"secure and insecure":            {params: map[string]string{"ssl_secure": "1", "ssl_insecure": "1"}, err: "ssl_secure and ssl_insecure are both on; delete one of them"},
		"insecure and a CA":              {params: map[string]string{"ca": pem, "ssl_insecure": "1"}, err: "ca has no meaning with ssl_insecure; delete one of them"},
		"neither yes nor no":             {params: map[string]string{"ssl_insecure": "2"}, err: `ssl_insecure "2" is not 1 or 0`},
		"PEM":                            {params: map[string]string{"ca": pem}},
		"PEM with blanks":                {params: map[string]string{"ca": strings.ReplaceAll(line, "\n", " ")}},
		`PEM with \n`:                    {params: map[string]string{"ca": strings.ReplaceAll(line, "\n", `\n`)}},
		"PEM in one piece":               {params: map[string]string{"ca": strings.ReplaceAll(line, "\n", "")}},
		"two of them":                    {params: map[string]string{"ca": pem + strings.ReplaceAll(pem, "\n", "\r\n")}},
		"a path":                         {params: map[string]string{"ca": "/etc/ssl/ca.pem"}, err: notPEM},
		"words before it":                {params: map[string]string{"ca": "our CA: " + pem}, err: notPEM},
		"words behind it":                {params: map[string]string{"ca": pem + " and so on"}, err: notPEM},
		"cut short":                      {params: map[string]string{"ca": pem[:100]}, err: notPEM},
		"a key":                          {params: map[string]string{"ca": strings.ReplaceAll(pem, "CERTIFICATE", "PRIVATE KEY")}, err: notPEM},
		"letters that are no base64":     {params: map[string]string{"ca": strings.Replace(line, "MII", "M*I", 1)}, err: "ca: certificate 1 is not base64"},
		"base64 of something else":       {params: map[string]string{"ca": pem + "-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----"}, err: "ca: read certificate 2: x509: malformed certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			p := maps.Clone(tc.params)
			cfg, err := trust.Config(p)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tc.err || (cfg == nil) != (err != nil) {
				t.Fatalf("%v, want %q", err, tc.err)
			}
			if cfg != nil && (cfg.InsecureSkipVerify != tc.insecure || (cfg.RootCAs != nil) != (p["ca"] != "")) {
				t.Errorf("insecure: %v, a CA of its own: %v", cfg.InsecureSkipVerify, cfg.RootCAs != nil)
			}
		})
	}
}

// TestNothingIsSentAfterACall: the connection of a call that is ended is reset. What the device has not
// acknowledged is dropped, and not sent again for minutes (S8).
func TestNothingIsSentAfterACall(t *testing.T) {
	addr, ended := trusttest.Silent(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr, strings.NewReader("off"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Transport(&tls.Config{}).RoundTrip(r); err == nil {
		t.Fatal("it was answered")
	}
	if err := ended(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the device reads %v, want a reset", err)
	}
}

// TestADeviceWithoutACommonCipher: old devices have RSA key exchange alone, or an old TLS. The error
// names the remedy.
func TestADeviceWithoutACommonCipher(t *testing.T) {
	const want = "it and nodefence have no TLS version and cipher in common: nodefence takes TLS 1.2 and newer, and no cipher with RSA key exchange; have the device offer TLS 1.2 with an ECDHE cipher, by its settings or newer firmware"
	ca := trusttest.New(t)
	for name, old := range map[string]*tls.Config{
		"RSA key exchange": {CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}, MaxVersion: tls.VersionTLS12},
		"TLS 1.1":          {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
	} {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		old.Certificates = []tls.Certificate{ca.Issue(t, nil, "127.0.0.1")}
		s.TLS = old
		s.StartTLS()
		defer s.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = trust.Transport(&tls.Config{InsecureSkipVerify: true}).RoundTrip(r)
		if err == nil {
			t.Fatalf("%s: it was answered", name)
		}
		if got := trust.Lost(err); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
