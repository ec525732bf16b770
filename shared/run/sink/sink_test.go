package sink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// authority is a private CA.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA of ours"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// serve answers with a certificate that the CA signed for the loopback.
func (a authority) serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func sender(t *testing.T, o Options) *Sender {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refusal is an error's text, up to where the network's own text begins.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	_, last, found := strings.Cut(err.Error(), "tls: ")
	if found {
		return last
	}
	return err.Error()
}

func TestAnHTTPSSinkIsTrustedByTheCertificatesThatAreGiven(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	url := ours.serve(t, func(http.ResponseWriter, *http.Request) {})
	bundles := t.TempDir()
	write(t, filepath.Join(bundles, "ours.pem"), ours.pem)
	write(t, filepath.Join(bundles, "bad.pem"), "no certificate")
	const unknown = "failed to verify certificate: x509: certificate signed by unknown authority"
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"none are given":                    {Options{}, unknown},
		"another's":                         {Options{CACerts: theirs.pem}, unknown},
		"its own":                           {Options{CACerts: ours.pem}, ""},
		"its own among others and text":     {Options{CACerts: "# theirs\n" + theirs.pem + "# ours\n" + ours.pem + "\n"}, ""},
		"its own in the folder":             {Options{CACerts: theirs.pem, TrustBundles: bundles}, ""},
		"a folder that does not exist":      {Options{CACerts: ours.pem, TrustBundles: "/nowhere"}, ""},
		"the system's have no need of ours": {Options{CACerts: " \n"}, unknown},
	} {
		c.o.Sink = url
		if got := refusal(sender(t, c.o).Send(t.Context(), phaseEvent())); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCertificatesThatAreRenewedInTheFolderAreTakenUp(t *testing.T) {
	ours := newAuthority(t)
	h := sender(t, Options{Sink: ours.serve(t, func(http.ResponseWriter, *http.Request) {}), TrustBundles: t.TempDir()})
	if err := h.Send(t.Context(), phaseEvent()); err == nil {
		t.Fatal("a sink that nobody vouches for was trusted")
	}
	write(t, filepath.Join(h.o.TrustBundles, "ca.pem"), ours.pem)
	_ = h.Send(t.Context(), phaseEvent()) // may still be refused; it reads the folder
	if err := h.Send(t.Context(), phaseEvent()); err != nil {
		t.Error(err)
	}
}

func TestCACertsAreAllCertificatesOrRefused(t *testing.T) {
	ours := newAuthority(t)
	block := func(typ, body string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: []byte(body)}))
	}
	for name, c := range map[string]struct{ given, want string }{
		"text":                  {"x", "read K_CA_CERTS: it holds no certificate in PEM"},
		"a key":                 {ours.pem + block("PRIVATE KEY", "x"), "read K_CA_CERTS: it holds a private key; it must hold certificates only"},
		"a broken certificate":  {ours.pem + block("CERTIFICATE", "x"), "read K_CA_CERTS: certificate 2: x509: malformed certificate"},
		"one that is cut short": {ours.pem + ours.pem[:len(ours.pem)/2], "read K_CA_CERTS: it begins 2 certificates in PEM, of which 1 can be read"},
	} {
		_, err := New(Options{Sink: "http://broker", CACerts: c.given})
		if got := refusal(err); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestOverrides(t *testing.T) {
	for name, c := range map[string]struct {
		given string
		want  map[string]string
		err   string
	}{
		"none":                             {"", nil, ""},
		"as a SinkBinding says none":       {"{}", nil, ""},
		"one":                              {`{"extensions":{"site":"north 1"}}`, map[string]string{"site": "north 1"}, ""},
		"a later Knative may say more":     {`{"extensions":{"site":"n"},"more":{}}`, map[string]string{"site": "n"}, ""},
		"no JSON":                          {"site=n", nil, `it is not {"extensions":{"name":"value"}}: invalid character 's' looking for beginning of value`},
		"two of them":                      {"{} {}", nil, `it is not {"extensions":{"name":"value"}}: invalid character '{' after top-level value`},
		"a number":                         {`{"extensions":{"site":1}}`, nil, `it is not {"extensions":{"name":"value"}}: the number at byte 23 has no place there`},
		"a list":                           {`[]`, nil, `it is not {"extensions":{"name":"value"}}: the array at byte 1 has no place there`},
		"no name":                          {`{"extensions":{"":"x"}}`, nil, "an extension has no name"},
		"a name in capitals":               {`{"extensions":{"Site":"x"}}`, nil, `extension "Site": a name is lower-case letters and digits`},
		"a name with a hyphen":             {`{"extensions":{"my-site":"x"}}`, nil, `extension "my-site": a name is lower-case letters and digits`},
		"the ID":                           {`{"extensions":{"id":"x"}}`, nil, `extension "id": nodefence sets this one itself`},
		"the type":                         {`{"extensions":{"type":"x"}}`, nil, `extension "type": nodefence sets this one itself`},
		"the subject":                      {`{"extensions":{"subject":"x"}}`, nil, `extension "subject": nodefence sets this one itself`},
		"what orders":                      {`{"extensions":{"partitionkey":"x"}}`, nil, `extension "partitionkey": nodefence sets this one itself`},
		"what filters ask for":             {`{"extensions":{"reason":"x"}}`, nil, `extension "reason": nodefence sets this one itself`},
		"what ends it":                     {`{"extensions":{"expirytime":"x"}}`, nil, `extension "expirytime": nodefence sets this one itself`},
		"a value that would split headers": {`{"extensions":{"site":"a\r\nb"}}`, nil, `extension "site": its value holds control characters`},
	} {
		got, err := parseOverrides(c.given)
		if d := cmp.Diff(c.want, got); d != "" || refusal(err) != c.err {
			t.Errorf("%s: got %v, %q, want %q", name, got, refusal(err), c.err)
		}
	}
}

func TestOverridesAreOnEveryEventAndOnNothingElse(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer s.Close()
	h := sender(t, Options{Sink: s.URL, Overrides: `{"extensions":{"site":"north 1","rack":"ü"}}`})
	e := phaseEvent()
	before := e.String()
	for range 2 {
		if err := h.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"Ce-Site": "north 1", "Ce-Id": e.ID(), "Ce-Subject": "a", "Ce-Partitionkey": "a", "Ce-Type": e.Type(), "Ce-Source": "/nodefence/c",
		} {
			if got.Get(name) != want {
				t.Errorf("%s: got %q, want %q", name, got.Get(name), want)
			}
		}
	}
	if e.String() != before {
		t.Errorf("the event that the outbox keeps has become another: %s", e)
	}
}

func TestTheTokenIsReadBeforeEachSend(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header["Authorization"] }))
	defer s.Close()
	h := sender(t, Options{Sink: s.URL, TokenFile: filepath.Join(t.TempDir(), "token")})
	for _, c := range []struct {
		about, file string
		want        []string
		err         string
	}{
		{"no file", "-", nil, ""},
		{"the first", "one.two.three\n", []string{"Bearer one.two.three"}, ""},
		{"the next", "four.five.six", []string{"Bearer four.five.six"}, ""},
		{"an empty file", "\n", nil, "read the sink's token: " + h.o.TokenFile + " does not hold one"},
		{"something else", "one\ntwo", nil, "read the sink's token: " + h.o.TokenFile + " does not hold one"},
		{"a very large file", strings.Repeat("x", maxToken+1), nil, "read the sink's token: " + h.o.TokenFile + " does not hold one"},
		{"well again", "seven", []string{"Bearer seven"}, ""},
	} {
		if got = nil; c.file != "-" {
			write(t, h.o.TokenFile, c.file)
		}
		err := h.Send(t.Context(), phaseEvent())
		if d := cmp.Diff(c.want, got); d != "" || refusal(err) != c.err {
			t.Errorf("%s: %s, %q", c.about, d, refusal(err))
		}
	}
}

func TestTheTokenGoesNowhereElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	answers := map[string]func(http.ResponseWriter, *http.Request){
		"post event: 307 Temporary Redirect ": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"post event: 401 Unauthorized you said Bearer [token]": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "you said\n"+r.Header.Get("Authorization"))
		},
		"post event: 403 Forbidden " + strings.Repeat("x", maxAnswer-4) + "[tok": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer-4)+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		},
	}
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "one.two.three")
	for want, answer := range answers {
		s := httptest.NewServer(http.HandlerFunc(answer))
		err := sender(t, Options{Sink: s.URL, TokenFile: file}).Send(t.Context(), phaseEvent())
		if refusal(err) != want {
			t.Errorf("got %q, want %q", refusal(err), want)
		}
		s.Close()
	}
}

func TestASinkThatNeverStopsTalkingIsCutOff(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), sendTimeout)
	defer cancel()
	if err := sender(t, Options{Sink: s.URL}).Send(ctx, phaseEvent()); err != nil {
		t.Errorf("it had said 200: %v", err)
	}
	<-gone
}
