package requests

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// reviewToken has Kubernetes authenticate the token of a request and authorize its user, whom it writes into r.
func (j *Judge) reviewToken(ctx context.Context, e event.Event, token string, n *corev1.Node, f *api.NodeFence, r *api.AskedBy) (*no, error) {
	node := n.Name
	audience := events.Audience(node, e.ID())
	made, why := checkTokenTimes(token, audience)
	if why != "" {
		return &no{api.TokenRefused, why}, nil
	}
	if end := lastEnd(f); end != nil && made.Before(end.Truncate(time.Second)) { // it says whole seconds
		// Whoever saw its event could send it again under another source and time (S29).
		return &no{api.TokenRefused, "the token was made before this node's last fence ended, at " + end.UTC().Format(time.RFC3339) + ": make a new one"}, nil
	}
	u, why, err := j.Client.ReviewToken(ctx, token, audience)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return &no{api.TokenRefused, why}, nil
	}
	allowed, err := j.Client.MayFence(ctx, u, node)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return &no{api.NotAllowed, u.Username + " may not: it needs the verb fence on nodefences.nodefence.io " + node}, nil
	}
	r.User = clip.To(longestWords, u.Username)
	return nil, nil
}

// checkTokenTimes returns when a token was made, and refuses a token that lives on for hours after its event.
// The claims are read without their signature: the API server verifies the signature next.
func checkTokenTimes(token, audience string) (made time.Time, why string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return made, "the token is not a JSON Web Token: make one with kubectl create token SERVICEACCOUNT --audience=" + audience + " --duration=10m"
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Iat, Exp float64 }
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp == 0 || claims.Iat == 0 {
		return made, "the token does not say how long it lives (iat, exp)"
	}
	if life := time.Duration(claims.Exp-claims.Iat) * time.Second; life > api.RequestValidity {
		return made, "the token lives for " + life.String() + ", at most " + api.RequestValidity.String() + " are taken: use --duration=10m"
	}
	return time.Unix(int64(claims.Iat), 0), ""
}
