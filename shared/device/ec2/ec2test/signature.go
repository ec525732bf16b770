package ec2test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var authFailure = Refusal{http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"}

// unsigned says what is wrong with a request's signature. It signs the request again with
// AWS's own signer, and compares.
func (c *Cloud) unsigned(r *http.Request, body io.Reader) Refusal {
	if len(c.Secrets) == 0 {
		return Refusal{}
	}
	given := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(given, "Credential=")
	scope, _, _ := strings.Cut(rest, ",")
	part := strings.Split(scope, "/") // key, date, region, service, aws4_request
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if len(part) != 5 || err != nil {
		return Refusal{http.StatusUnauthorized, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	}
	secret, known := c.Secrets[part[0]]
	if !known {
		return authFailure
	}
	again := &http.Request{Method: r.Method, Host: r.Host, URL: r.URL, Header: http.Header{}, ContentLength: r.ContentLength}
	_, list, _ := strings.Cut(given, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	for _, name := range strings.Split(list, ";") {
		if v := r.Header.Values(name); len(v) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	sum := sha256.New()
	_, _ = io.Copy(sum, body) // from memory to memory
	creds := aws.Credentials{AccessKeyID: part[0], SecretAccessKey: secret, SessionToken: r.Header.Get("X-Amz-Security-Token")}
	err = v4.NewSigner().SignHTTP(r.Context(), creds, again, hex.EncodeToString(sum.Sum(nil)), part[3], part[2], at)
	if err != nil || again.Header.Get("Authorization") != given {
		return authFailure
	}
	return Refusal{}
}
