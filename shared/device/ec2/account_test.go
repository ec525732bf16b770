package ec2_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
)

const token = "FwoGZXIvYXdzEXAMPLETOKEN"

// own is a driver without keys, for an API that the environment names.
func own(t *testing.T, url string) device.Driver {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL_EC2", url)
	d, err := ec2.Kind().Open(map[string]string{"instance": id, "region": region})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// issuer is as much of STS as a service account's token is handed in to.
func issuer(t *testing.T, answer http.HandlerFunc) *atomic.Int32 {
	t.Helper()
	asked := &atomic.Int32{}
	ended := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		if answer == nil {
			<-ended
			return
		}
		answer(w, r)
	}))
	t.Cleanup(func() { close(ended); srv.Close() })
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of-the-service-account"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_STS", srv.URL)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/nodefence-power")
	return asked
}

func issues(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials>
<AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/x/y</Arn><AssumedRoleId>A:y</AssumedRoleId></AssumedRoleUser>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, key, secret, token, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func issuesNot(code string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>words of AWS</Message></Error></ErrorResponse>`, code)
	}
}

// TestOwnIdentity is what this process is for AWS where the parameters say nothing.
func TestOwnIdentity(t *testing.T) {
	const nobody = "device denied access: describe instance " + id + " in eu-west-1: get AWS credentials for this process: "
	for name, tc := range map[string]struct {
		set  func(t *testing.T)
		kind error
		text string
	}{
		"a Lambda's role, by its environment": {func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
			t.Setenv("AWS_SESSION_TOKEN", token)
			t.Setenv("AWS_REGION", "us-east-1") // the instance's counts
		}, nil, ""},
		"a service account's role":                     {func(t *testing.T) { issuer(t, issues) }, nil, ""},
		"a service account that may not take the role": {func(t *testing.T) { issuer(t, issuesNot("AccessDenied", 403)) }, device.ErrDenied, nobody + "AccessDenied: words of AWS"},
		"a token that is too old":                      {func(t *testing.T) { issuer(t, issuesNot("ExpiredTokenException", 400)) }, device.ErrDenied, nobody + "ExpiredTokenException: words of AWS"},
		"nobody at all":                                {func(*testing.T) {}, device.ErrDenied, nobody + "access disabled to EC2 IMDS via client option, or \"AWS_EC2_METADATA_DISABLED\" environment variable"},
		"an environment that contradicts itself":       {func(t *testing.T) { t.Setenv("AWS_PROFILE", "gone") }, device.ErrDenied, "device denied access: read this process's AWS configuration: failed to get shared config profile, gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			tc.set(t)
			r, err := own(t, s.url).State(t.Context())
			if d := cmp.Diff(tc.text, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) || (err == nil) != (r.Power == device.On) {
				t.Error(r, d)
			}
		})
	}
}

// TestOneIdentity: what AWS gave is kept for the next driver of the kind.
func TestOneIdentity(t *testing.T) {
	s := serve(t)
	asked := issuer(t, issues)
	t.Setenv("AWS_ENDPOINT_URL_EC2", s.url)
	kind := ec2.Kind()
	for range 3 {
		d, err := kind.Open(map[string]string{"instance": id, "region": region})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.State(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked for credentials %d times, want once", n)
	}
}

// TestIdentityHangs: who gives out credentials costs no more than the caller's
// time either, and nothing is sent to the machine.
func TestIdentityHangs(t *testing.T) {
	s := serve(t)
	issuer(t, nil)
	d := own(t, s.url)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := d.Off(ctx); !errors.Is(err, device.ErrUnreachable) {
		t.Errorf("%v, want %v", err, device.ErrUnreachable)
	}
	if sent := s.sent(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}

// TestNoSecretInErrors: not even if the answer has them (S29).
func TestNoSecretInErrors(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, url string) device.Driver{
		"keys of the parameters": func(t *testing.T, url string) device.Driver { return dial(t, url, nil) },
		"keys of the process": func(t *testing.T, url string) device.Driver {
			t.Setenv("AWS_ACCESS_KEY_ID", key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
			t.Setenv("AWS_SESSION_TOKEN", token)
			return own(t, url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			d := open(t, s.url)
			// However much stands before it, and where the message is cut.
			for pad := range 240 {
				said := strings.Repeat("x", pad) + key + " " + secret + " " + token
				s.Refuse("DescribeInstances", ec2test.Refusal{Status: 403, Code: "SignatureDoesNotMatch", Message: said})
				_, err := d.State(t.Context())
				if !errors.Is(err, device.ErrDenied) {
					t.Fatal(err)
				}
				for _, part := range []string{key[:6], secret[:6], token[:6]} {
					if strings.Contains(err.Error(), part) && (part != token[:6] || name == "keys of the process") {
						t.Fatal("a secret is shown:", err)
					}
				}
			}
		})
	}
}

// TestNoAddressIsTriedForLong, also where whoever asks has no deadline, as the SDK has none when it gets
// credentials.
func TestNoAddressIsTriedForLong(t *testing.T) {
	silent := errors.New("nobody answers")
	tried := make(chan bool, 1)
	h := ec2.PlainHTTP(func(ctx context.Context, _, _ string) (net.Conn, error) {
		end, bounded := ctx.Deadline()
		tried <- bounded && time.Until(end) <= 30*time.Second
		return nil, silent
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sts.example", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	if !errors.Is(err, silent) || !<-tried {
		t.Errorf("%v; want a connection that is tried for 30 s at most", err)
	}
}

// TestKeepsNoConnection: one that a Lambda was frozen with is dead when it thaws.
func TestKeepsNoConnection(t *testing.T) {
	s := serve(t)
	open := make(chan int, 100)
	var n atomic.Int32
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open <- int(n.Add(1))
		case http.StateClosed:
			open <- int(n.Add(-1))
		}
	}
	srv.Start()
	defer srv.Close()
	if _, err := dial(t, srv.URL, nil).State(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case left := <-open:
			if left == 0 {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the connection is kept")
		}
	}
}

// TestNothingIsSentAfterACall: the connection of a call that is ended is reset (S8).
func TestNothingIsSentAfterACall(t *testing.T) {
	addr, ended := trusttest.Silent(t)
	d, err := ec2.Kind().Open(map[string]string{"instance": id, "region": region, "access_key": "A", "secret_key": "s", "endpoint": "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := d.State(ctx); err == nil {
		t.Fatal("it was answered")
	}
	if err := ended(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the cloud reads %v, want a reset", err)
	}
}
