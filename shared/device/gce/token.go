package gce

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/rest"
)

// accountKey is a service account's key, in the console's format.
type accountKey struct {
	email, id string
	private   *rsa.PrivateKey
}

// parseKey never shows what it read (S29: no secret is shown).
func parseKey(text string) (*accountKey, error) {
	var k struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		ID         string `json:"private_key_id"`
		PrivateKey string `json:"private_key"`
	}
	if json.Unmarshal([]byte(text), &k) != nil {
		return nil, errors.New("key is not a service account's key in JSON; write it as one line, such as by jq -c")
	}
	if k.Type != "service_account" || k.Email == "" {
		return nil, errors.New("key is not a service account's: its type is another, or client_email is missing")
	}
	block, _ := pem.Decode([]byte(k.PrivateKey))
	if block == nil {
		return nil, errors.New("key: private_key is not PEM")
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := any.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("key: private_key is no RSA key")
	}
	return &accountKey{email: k.Email, id: k.ID, private: private}, nil
}

const scope = "https://www.googleapis.com/auth/compute"

// assertion is a JWT (RFC 7523) with which the account asks for a token.
func (k *accountKey) assertion(audience string, now time.Time) (string, error) {
	head, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": k.id})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{
		"iss": k.email, "scope": scope, "aud": audience,
		"iat": now.Add(-10 * time.Second).Unix(), "exp": now.Add(5 * time.Minute).Unix(), // clocks differ a little
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, k.private, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

const tokenPath = "/computeMetadata/v1/instance/service-accounts/default/token"

// enter gets a token for the requests that follow. Any answer but a success is a refusal of
// the account, unless nobody answered.
func (i *instance) enter(ctx context.Context, t *rest.Talk) error {
	r := rest.Request{What: "get a token from the metadata server", Method: http.MethodGet, URL: "http://" + i.metadata + tokenPath}
	if i.key != nil {
		jwt, err := i.key.assertion(i.tokens, time.Now())
		if err != nil {
			return t.Errorf(device.ErrDenied, "sign a request for a token: %v", err)
		}
		t.Hide(jwt)
		r = rest.Request{What: "get a token", Method: http.MethodPost, URL: i.tokens, Form: url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {jwt},
		}}
	} else {
		t.Header.Set("Metadata-Flavor", "Google")
	}
	defer t.Header.Del("Metadata-Flavor")
	return t.Bearer(ctx, r)
}
