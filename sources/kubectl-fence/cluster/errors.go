package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// NoCluster says that none of these files names a cluster, and which of those that KUBECONFIG names
// do not exist: client-go skips a missing file.
func NoCluster(files []string) error {
	var gone []string
	for _, f := range files {
		if _, err := os.Stat(f); f != "" && errors.Is(err, os.ErrNotExist) {
			gone = append(gone, f)
		}
	}
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" && len(gone) > 0 {
		return fmt.Errorf("no cluster is named: %s names %s, and there is no such file; correct %[1]s, or set --kubeconfig", clientcmd.RecommendedConfigPathEnvVar, strings.Join(gone, ", "))
	}
	return errors.New("no cluster is named: set --kubeconfig, --context or KUBECONFIG")
}

// NoContext says that none of these contexts is chosen. kubectl would try this machine.
func NoContext(all []string) error {
	if len(all) == 0 {
		return errors.New("no context is chosen, and the kubeconfig has none: set --cluster, or make one with kubectl config set-context")
	}
	return fmt.Errorf("no context is chosen: set --context, or choose one with kubectl config use-context; the kubeconfig has %s", strings.Join(all, ", "))
}

// What a person does about kinds that are not there, or are older than this program: to upgrade them alone,
// while nodefence runs, is wrong.
const (
	install = "install nodefence as https://github.com/nodefence/nodefence/blob/main/infra/INSTALL.md says, or choose another --context"
	older   = "use the kubectl-fence of nodefence's version there"
)

// LedgerRemedy says what a person does where there is no FenceLedger.
const LedgerRemedy = "nodefence makes it once it runs; to stop everything before that, apply nodefence-ledger.yaml of its release"

// reasonAlone is a field that the API server does not know, and that a command writes for --reason alone.
var reasonAlone = regexp.MustCompile(`unknown field "spec\.(?:stopReason|requests\.\w+\.reason)"`)

// Explain says in one sentence what is wrong, and what to do about it.
func Explain(err error) error {
	var refused apierrors.APIStatus
	var unreached *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case clientcmd.IsEmptyConfig(err):
		return NoCluster(nil)
	case errors.As(err, &refused):
		return wrapRefusal(refused, err)
	case errors.As(err, &unreached):
		return wrapNoAnswer(unreached)
	}
	return err
}

// wrapNoAnswer says why a request got no answer.
func wrapNoAnswer(e *url.Error) error {
	at, untrusted := host(e.URL), &tls.CertificateVerificationError{}
	switch {
	case errors.As(e.Err, &untrusted):
		return fmt.Errorf("the certificate of the API server at %s is not trusted here: check --context, and the kubeconfig's certificate-authority: %w", at, e.Err)
	case strings.HasPrefix(e.Err.Error(), "getting credentials: "): // client-go has no type for it
		return fmt.Errorf("the kubeconfig gives no credentials for %s: log in again, or choose another --context: %w", at, e.Err)
	}
	return fmt.Errorf("the API server does not answer at %s: check --context, and that the cluster runs: %w", at, e.Err)
}

// wrapRefusal says what the API server's refusal means.
func wrapRefusal(refused apierrors.APIStatus, err error) error {
	st := refused.Status()
	switch {
	case apierrors.IsNotFound(err) && !Absent(err):
		return fmt.Errorf("nodefence's kinds are not installed in this cluster: %s", install)
	case apierrors.IsUnauthorized(err):
		return errors.New("the API server does not know who you are: log in again, or choose another --context")
	case apierrors.IsForbidden(err):
		return forbidden(st.Message)
	case strings.Contains(st.Message, "Unsupported value"):
		return fmt.Errorf("the API server refuses this: %s; if nodefence's kinds are older in this cluster than kubectl-fence, %s", oneLine(st.Message), older)
	case reasonAlone.MatchString(st.Message) && strings.Count(st.Message, "unknown field") == 1:
		return fmt.Errorf("nodefence's kinds are older in this cluster than kubectl-fence: leave out --reason, or %s (%s)", older, oneLine(st.Message))
	case strings.Contains(st.Message, "unknown field"):
		return fmt.Errorf("nodefence's kinds are older in this cluster than kubectl-fence: %s (%s)", older, oneLine(st.Message))
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Errorf("the API server refuses this: %s", refusal(st.Message))
	}
	return err
}

// denied is before what an admission policy says.
const denied = "denied request: "

// refusal is what the API server, or an admission policy in its place, says. The time of a request is that of its
// command.
func refusal(message string) string {
	if _, says, ok := strings.Cut(message, denied); ok {
		message = says
	}
	if message = oneLine(message); strings.Contains(message, "is in the same second as that of") {
		message += "; repeat the command"
	}
	return message
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func host(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Host
	}
	return raw
}

// Absent tells whether the named object does not exist, although its kind does. Where the API server
// does not serve the kind, its answer is no Status, and client-go fills in the name that was asked for.
func Absent(err error) bool {
	var refused apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &refused) {
		return false
	}
	d := refused.Status().Details
	return d != nil && d.Name != "" && d.Kind != "" &&
		!slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// NoSuch says which object does not exist, and leaves every other error as it is.
func NoSuch(err error, kind, name, remedy string) error {
	if Absent(err) {
		return fmt.Errorf("there is no %s %s: %s", kind, name, remedy)
	}
	return err
}
