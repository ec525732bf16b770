package kube

import (
	"context"
	"net/http"
)

type functionKey struct{}

// WithFunction tells the API server and its audit log which function sends a request. It does not
// change the request.
func WithFunction(ctx context.Context, function string) context.Context {
	return context.WithValue(ctx, functionKey{}, function)
}

// named sends that name.
func named(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if function, ok := r.Context().Value(functionKey{}).(string); ok {
			r = r.Clone(r.Context())
			r.Header.Set("User-Agent", r.Header.Get("User-Agent")+"/"+function)
		}
		return next.RoundTrip(r)
	})
}
