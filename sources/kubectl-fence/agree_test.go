package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// TestAWordThatIsNotBelieved is told, also if it was taken up at first.
func TestAWordThatIsNotBelieved(t *testing.T) {
	at := metav1.Now().Rfc3339Copy()
	result := api.Accepted
	cfg := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f := api.NodeFence{}
		f.Status.Answers = []api.RequestAnswer{{Request: api.AskedConfirmOff, At: at, Result: result, Message: "its Lease moved"}}
		result = api.Refused
		kubetest.Answer(w, f)
	}))
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	a := &acting{program: &program{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}, wait: time.Minute}
	err = a.awaitAnswer(t.Context(), c, act.Change{Name: "a", Asks: api.AskedConfirmOff, At: at})
	if err == nil || !strings.Contains(err.Error(), "Refused: its Lease moved") {
		t.Errorf("%v: %s", err, &out)
	}
}

// TestAnAnswerInOneLine: an answer may have what a device or another program has said.
func TestAnAnswerInOneLine(t *testing.T) {
	var out strings.Builder
	a := &acting{program: &program{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}
	if err := a.tellAnswer(&api.RequestAnswer{Result: api.Accepted, Message: "its device says \x1b[2K\r\nproof"}); err != nil || out.String() != "nodefence's answer: Accepted: its device says  [2K  proof\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}
