package kube

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// User is the user of a token, as the API server knows it.
type User = authenticationv1.UserInfo

// ReviewToken asks the API server whose token this is, for this audience and no
// other. Without a user, why says what is wrong with it, without the token.
func (c *Client) ReviewToken(ctx context.Context, token, audience string) (u *User, why string, err error) {
	r, err := create(ctx, c, "/apis/authentication.k8s.io/v1/tokenreviews", &authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	})
	if err != nil {
		return nil, "", err
	}
	for _, a := range r.Status.Audiences {
		if r.Status.Authenticated && a == audience {
			return &r.Status.User, "", nil
		}
	}
	return nil, "the API server does not accept it for audience " + audience + ": make one with kubectl create token SERVICEACCOUNT --audience=" + audience + " --duration=10m", nil
}

// MayFence asks the API server whether a user has the verb fence on the
// NodeFence of a node (S20).
func (c *Client) MayFence(ctx context.Context, u *User, node string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(u.Extra))
	for k, v := range u.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	r, err := create(ctx, c, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: api.GroupVersion.Group, Resource: "nodefences", Verb: "fence", Name: node,
			},
		},
	})
	if err != nil {
		return false, err
	}
	return r.Status.Allowed && !r.Status.Denied, nil
}

// WhoAmI asks the API server for the name by which it knows this program.
func (c *Client) WhoAmI(ctx context.Context) (string, error) {
	r, err := create(ctx, c, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &authenticationv1.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"},
	})
	if err != nil {
		return "", err
	}
	return r.Status.UserInfo.Username, nil
}
