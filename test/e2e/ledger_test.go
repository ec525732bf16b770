package e2e

import (
	"encoding/json"
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const theLedger = "/apis/nodefence.io/v1alpha1/fenceledgers/" + api.LedgerName

// setLedger writes the ledger as people do, spec and all, as that user.
func (w *world) setLedger(user string, l *api.FenceLedger) error {
	w.t.Helper()
	cfg := rest.CopyConfig(w.Config)
	cfg.Impersonate.UserName = user
	client, err := kubernetes.NewForConfig(cfg)
	must(w.t, err)
	l.APIVersion, l.Kind = api.GroupVersion.String(), "FenceLedger"
	body, err := json.Marshal(l)
	must(w.t, err)
	return client.CoreV1().RESTClient().Put().AbsPath(theLedger).SetHeader("Content-Type", "application/json").Body(body).Do(w.ctx).Error()
}

// ledgerIsPeoples checks that no program's account writes the ledger's spec, neither by the
// ledger nor by its status (S16, S20).
func (o *office) ledgerIsPeoples() {
	o.t.Helper()
	for _, name := range []string{"gate", "isolate", "power", "cleanup", "recover", "request", "deadletter", "resync", "policystatus", "source"} {
		account := "system:serviceaccount:nodefence-system:nodefence-" + name
		for _, verb := range []string{"update", "patch", "delete"} {
			r, err := o.Kube.AuthorizationV1().SubjectAccessReviews().Create(o.ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: api.GroupVersion.Group, Resource: "fenceledgers", Verb: verb, Name: api.LedgerName,
				}},
			}, metav1.CreateOptions{})
			must(o.t, err)
			if r.Status.Allowed {
				o.t.Errorf("%s may %s the ledger", account, verb)
			}
		}
		o.until("the ledger to be free", func() (bool, error) {
			l, err := o.Fences.Ledger(o.ctx)
			must(o.t, err)
			l.Spec.Stop = true
			if err := o.setLedger(account, l); !apierrors.IsForbidden(err) {
				o.t.Errorf("%s writes the ledger: %v", account, err)
			}
			saved, err := o.world.as(account).SaveLedger(o.ctx, l)
			if err == nil && saved.Spec.Stop {
				o.t.Errorf("%s writes the ledger's spec by its status", account)
			}
			return !errors.Is(err, kube.ErrConflict), nil
		})
	}
}
