package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// ActAs makes each request act as the account of the function that sends it (WithFunction), by impersonation. The API
// server then applies the rights and the admission policies of this account, and its audit log names the account. The
// process needs the right to impersonate these accounts, and no other right. A request of no function is sent as the
// process itself, so a function that forgets to name itself is refused.
func ActAs(cfg *rest.Config, account func(function string) string) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if function, ok := r.Context().Value(functionKey{}).(string); ok {
				r = r.Clone(r.Context())
				r.Header.Set(transport.ImpersonateUserHeader, account(function))
			}
			return next.RoundTrip(r)
		})
	})
}
