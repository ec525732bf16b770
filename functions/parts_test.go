package functions

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// TestTheMetadataServerIsThatOfTheSettings: tests need this to replace it.
func TestTheMetadataServerIsThatOfTheSettings(t *testing.T) {
	asked := ""
	srv := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	}))
	in := DriversIn(kubetest.Client(t, http.NotFoundHandler()), Settings{GCEMetadata: strings.TrimPrefix(srv.Host, "http://")})
	d, err := in["gce"].Open(map[string]string{"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.State(t.Context()); !errors.Is(err, device.ErrDenied) || asked != "/computeMetadata/v1/instance/service-accounts/default/token" {
		t.Errorf("asked for %q: %v", asked, err)
	}
}
