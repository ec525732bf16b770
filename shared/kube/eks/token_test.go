package eks

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
)

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestToken(t *testing.T) {
	const session = "IQoJb3JpZ2luX2VjEHk//+a=="
	for name, c := range map[string]struct {
		cluster, region, session string
		want                     claims
	}{
		"a user's key": {"prod", "eu-central-1", "",
			claims{"sts.eu-central-1.amazonaws.com", "AKIDEXAMPLE", "eu-central-1", "", "host;x-k8s-aws-id", at}},
		"a role's session": {"prod", "us-east-1", session,
			claims{"sts.us-east-1.amazonaws.com", "AKIDEXAMPLE", "us-east-1", session, "host;x-k8s-aws-id", at}},
		"another partition": {"prod_1-a", "cn-north-1", "",
			claims{"sts.cn-north-1.amazonaws.com.cn", "AKIDEXAMPLE", "cn-north-1", "", "host;x-k8s-aws-id", at}},
	} {
		t.Run(name, func(t *testing.T) {
			creds := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: c.session}
			token, err := sign(context.Background(), c.cluster, c.region, creds, at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := verify(token, c.cluster, secret, at.Add(validity))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for why, bad := range map[string]error{
				"for another cluster":   second(verify(token, "other", secret, at)),
				"with another key":      second(verify(token, c.cluster, "other", at)),
				"after its validity":    second(verify(token, c.cluster, secret, at.Add(validity+time.Second))),
				"with another letter":   second(verify(token[:len(token)-3]+"AAA", c.cluster, secret, at)),
				"with its prefix alone": second(verify(tokenPrefix, c.cluster, secret, at)),
			} {
				if bad == nil {
					t.Errorf("it passes %s", why)
				}
			}
		})
	}
}

// TestTokenIsWhatTheSDKWouldSign compares our URL with that of the SDK's own STS client.
func TestTokenIsWhatTheSDKWouldSign(t *testing.T) {
	creds := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: "session"}
	client := sts.New(sts.Options{Region: "eu-central-1", Credentials: credentials.StaticCredentialsProvider{Value: creds}})
	theirs, err := sts.NewPresignClient(client).PresignGetCallerIdentity(context.Background(), &sts.GetCallerIdentityInput{},
		sts.WithPresignClientFromClientOptions(sts.WithAPIOptions(
			smithyhttp.SetHeaderValue(clusterHeader, "prod"), smithyhttp.SetHeaderValue("X-Amz-Expires", expires))))
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, theirs.URL)
	when, err := time.Parse("20060102T150405Z", want.Query().Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := sign(context.Background(), "prod", "eu-central-1", creds, when)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(token[len(tokenPrefix):])
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, string(raw))
	if d := cmp.Diff(want.Query(), got.Query()); d != "" || want.Host != got.Host {
		t.Errorf("host %s and %s\n%s", want.Host, got.Host, d)
	}
}

// keys is a credentials provider that counts.
type keys struct {
	asked   int
	expires time.Time
	err     error
}

func (k *keys) Retrieve(context.Context) (aws.Credentials, error) {
	k.asked++
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret,
		CanExpire: !k.expires.IsZero(), Expires: k.expires}, k.err
}

func TestRenewal(t *testing.T) {
	const none = time.Duration(0)
	for name, c := range map[string]struct {
		after   time.Duration
		expires time.Duration // of the credentials
		drop    bool
		renewed bool
	}{
		"a young token is kept":                     {9 * time.Minute, none, false, false},
		"an old one is renewed before it ends":      {renewAfter, none, false, true},
		"a dead one after a long freeze too":        {3 * time.Hour, none, false, true},
		"the clock was set back":                    {-time.Second, none, false, true},
		"the credentials end sooner than the token": {5 * time.Minute, 5 * time.Minute, false, true},
		"the credentials last longer":               {9 * time.Minute, time.Hour, false, false},
		"one that was refused":                      {time.Second, none, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			now, k := at, &keys{}
			if c.expires != 0 {
				k.expires = at.Add(c.expires)
			}
			tk := &tokens{cluster: "prod", region: "eu-central-1", credentials: k, now: func() time.Time { return now }}
			first := must(t)(tk.get(context.Background()))
			now = at.Add(c.after)
			if c.drop {
				tk.drop("some other token")
				tk.drop(first)
			}
			next := must(t)(tk.get(context.Background()))
			if (k.asked == 2) != c.renewed {
				t.Errorf("credentials were asked for %d times", k.asked)
			}
			got, err := verify(next, "prod", secret, now)
			if err != nil {
				t.Fatal(err)
			}
			if c.renewed != got.At.Equal(now) {
				t.Errorf("signed at %s, now it is %s", got.At, now)
			}
		})
	}
}

func TestNoCredentialsIsSaid(t *testing.T) {
	tk := &tokens{cluster: "prod", region: "eu-central-1", now: time.Now, credentials: &keys{err: errors.New("no role")}}
	if _, err := tk.get(context.Background()); err == nil || err.Error() != "sign in to EKS cluster prod: no role" {
		t.Error(err)
	}
}

func must(t *testing.T) func(string, error) string {
	return func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func second(_ claims, err error) error { return err }

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
