package eks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// EKS sends the URL in a token to STS, with the cluster's header, and STS computes the signature
// again. Both are done here from the public documents of Signature Version 4, without the SDK.

// claims is what a token says.
type claims struct {
	Host, AccessKey, Region, SessionToken string
	SignedHeaders                         string
	At                                    time.Time
}

// allowed are the parameters that EKS's authenticator passes on; it refuses others.
var allowed = []string{
	"Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date",
	"X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature", "X-Amz-SignedHeaders",
}

const maxToken = 4096

// verify is what EKS and STS do with a token.
func verify(token, cluster, secret string, now time.Time) (claims, error) {
	if len(token) > maxToken {
		return claims{}, errors.New("token too long")
	}
	raw, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return claims{}, errors.New("token lacks its prefix")
	}
	text, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil {
		return claims{}, fmt.Errorf("token is not base64 without padding: %w", err)
	}
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "https" || u.Path != "/" {
		return claims{}, fmt.Errorf("%s is not STS's URL", text)
	}
	q := u.Query()
	for name := range q {
		if !slices.Contains(allowed, name) {
			return claims{}, fmt.Errorf("parameter %s is not allowed", name)
		}
	}
	if q.Get("Action") != "GetCallerIdentity" || q.Get("X-Amz-Expires") != expires {
		return claims{}, fmt.Errorf("not a request for the caller's identity: %s", u.RawQuery)
	}
	scope := strings.Split(q.Get("X-Amz-Credential"), "/")
	at, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date"))
	if err != nil || len(scope) != 5 {
		return claims{}, fmt.Errorf("date or credential: %s", u.RawQuery)
	}
	if now.After(at.Add(validity)) {
		return claims{}, errors.New("token expired")
	}
	if want := signature(u, cluster, secret, scope); q.Get("X-Amz-Signature") != want {
		return claims{}, fmt.Errorf("signature %s, want %s", q.Get("X-Amz-Signature"), want)
	}
	return claims{u.Host, scope[0], scope[2], q.Get("X-Amz-Security-Token"), q.Get("X-Amz-SignedHeaders"), at}, nil
}

func signature(u *url.URL, cluster, secret string, scope []string) string {
	q := u.Query()
	q.Del("X-Amz-Signature")
	canonical := strings.Join([]string{
		"GET", "/", strings.ReplaceAll(q.Encode(), "+", "%20"),
		"host:" + u.Host + "\n" + clusterHeader + ":" + cluster + "\n",
		q.Get("X-Amz-SignedHeaders"), hexSum(""),
	}, "\n")
	toSign := strings.Join([]string{
		"AWS4-HMAC-SHA256", q.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hexSum(canonical),
	}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope[1:] {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, toSign))
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(s))
	return h.Sum(nil)
}
