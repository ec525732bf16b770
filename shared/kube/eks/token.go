package eks

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	// validity is how long EKS accepts a token, counted from the date of signing.
	validity = 15 * time.Minute
	// renewAfter is shorter, so that a request that is on its way has time to arrive.
	renewAfter = 10 * time.Minute
	// expires is the presigned URL's own; EKS and STS go by the date instead,
	// and old authenticators refuse more than a minute.
	expires = "60"
	// emptyPayload is the SHA-256 of a body of nothing.
	emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// tokens keeps one token and makes the next when it gets old.
type tokens struct {
	cluster, region string
	credentials     aws.CredentialsProvider
	now             func() time.Time

	mu    sync.Mutex
	token string
	made  time.Time
	until time.Time
}

func (t *tokens) get(ctx context.Context) (string, error) {
	// This uses the wall clock alone: in a frozen process the monotonic clock stands still while
	// the token grows old.
	now := t.now().Round(0)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && !now.Before(t.made) && now.Before(t.until) {
		return t.token, nil
	}
	creds, err := t.credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("sign in to EKS cluster %s: %w", t.cluster, err)
	}
	token, err := sign(ctx, t.cluster, t.region, creds, now)
	if err != nil {
		return "", fmt.Errorf("sign in to EKS cluster %s: %w", t.cluster, err)
	}
	t.token, t.made, t.until = token, now, now.Add(renewAfter)
	if creds.CanExpire && creds.Expires.Before(t.until) {
		t.until = creds.Expires // a token ends with the credentials that signed it
	}
	return token, nil
}

// drop forgets a token that was refused, unless another has taken its place.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// sign makes a token: the request by which this role may ask who it is, signed
// for this one cluster by a header, and as an URL in base64.
func sign(ctx context.Context, cluster, region string, creds aws.Credentials, at time.Time) (string, error) {
	endpoint, err := sts.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sts.EndpointParameters{Region: aws.String(region)})
	if err != nil {
		return "", fmt.Errorf("find STS in %s: %w", region, err)
	}
	u := endpoint.URI
	u.Path = "/"
	u.RawQuery = "Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=" + expires
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	req.Header.Set(clusterHeader, cluster)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, creds, req, emptyPayload, "sts", region, at)
	if err != nil {
		return "", err
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed)), nil
}
