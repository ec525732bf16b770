package redfish_test

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
)

// TestCertificates: who answers is only believed with one that was signed by
// whom the operator named, for this address, now.
func TestCertificates(t *testing.T) {
	stranger := trusttest.New(t)
	insecure := map[string]string{"ca": "", "ssl_insecure": "1"}
	for name, tc := range map[string]struct {
		change func(*x509.Certificate)
		names  []string
		params map[string]string
		want   string
	}{
		"signed by a private CA":            {names: []string{"127.0.0.1"}},
		"one of two CAs, in one line":       {names: []string{"127.0.0.1"}, params: map[string]string{"ca": "both"}},
		"signed by somebody else":           {names: []string{"127.0.0.1"}, params: map[string]string{"ca": stranger.PEM}, want: "its certificate is signed by nobody who is trusted; give the signer's certificate in ca"},
		"no CA given":                       {names: []string{"127.0.0.1"}, params: map[string]string{"ca": ""}, want: "its certificate is signed by nobody who is trusted; give the signer's certificate in ca"},
		"for another name":                  {names: []string{"bmc-8.example"}, want: "its certificate is for another name: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs; use that name, or give the device a certificate for this one"},
		"expired":                           {names: []string{"127.0.0.1"}, change: trusttest.Expired, want: "its certificate has expired or is not yet valid: "},
		"whatever it is, by explicit words": {names: []string{"bmc-8.example"}, change: trusttest.Expired, params: insecure},
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t)
			s.host, s.port = s.Serve(t, s.ca.Issue(t, tc.change, tc.names...))
			if tc.params["ca"] == "both" {
				tc.params["ca"] = strings.ReplaceAll(stranger.PEM+s.ca.PEM, "\n", `\n`)
			}
			d := s.dial(t, tc.params)
			r, err := d.State(t.Context())
			if tc.want == "" {
				if err != nil || r.Power != device.On {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			want := "device unreachable: " + s.host + ":" + s.port + ": read system " + uri + ": " + tc.want
			if !strings.HasPrefix(devicetest.Words(err), want) || !errors.Is(err, device.ErrUnreachable) {
				t.Error(cmp.Diff(want, devicetest.Words(err)))
			}
			if err := d.Off(t.Context()); !errors.Is(err, device.ErrUnreachable) {
				t.Error("off:", err)
			}
			if sent := s.heard(); len(sent) > 0 {
				t.Errorf("who is not believed heard %q", sent)
			}
		})
	}
}

// TestNoTLS: a password is sent to nobody in clear.
func TestNoTLS(t *testing.T) {
	s := prepare(t)
	s.host, s.port = s.ServePlain(t)
	for _, more := range []map[string]string{nil, {"auth": "session"}, {"ca": "", "ssl_insecure": "1"}} {
		_, err := s.dial(t, more).State(t.Context())
		if !strings.HasSuffix(devicetest.Words(err), "it does not speak TLS at this port") || !errors.Is(err, device.ErrUnreachable) {
			t.Error(err)
		}
	}
	if sent := s.heard(); len(sent) > 0 {
		t.Errorf("it heard %q", sent)
	}
}

// TestIPv6 is about brackets.
func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on the loopback: ", err)
	}
	s := prepare(t)
	s.host, s.port = s.ServeOn(t, l, s.ca.Issue(t, nil, "::1"))
	for _, ip := range []string{"::1", "[::1]"} {
		d := s.dial(t, map[string]string{"ip": ip, "auth": "session"})
		if r, err := d.State(t.Context()); err != nil || r.Power != device.On {
			t.Errorf("%s: %+v, %v", ip, r, err)
		}
	}
}
