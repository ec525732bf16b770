package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nodefence/nodefence/shared/buildinfo"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

const (
	own       = "/apis/nodefence.io/v1alpha1/"
	reviews   = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	planePods = "/api/v1/namespaces/kube-system/pods"
)

// served is what an API server has, by path; an int is a refusal with that code, and a func answers nothing.
// Its clock is off from this machine's by Date, and it warns of Warning. again says when status -w looks, and
// printed gets what is printed. Of a watch it has, by "watch " and its path, what method watch says. It is ours, and
// unverified.
type served map[string]any

// calm is a cluster with node a, policy workers, and a fence of it that waits for approval.
func calm() served {
	return served{
		"/api/v1/nodes":       corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}},
		own + "fencepolicies": json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FencePolicyList","items":[{"metadata":{"name":"workers"},"spec":{"selector":{},"mode":"RequireApproval","action":"Reboot"}}]}`),
		own + "nodefences":    json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFenceList","items":[` + waiting + `]}`),
		own + "nodefences/a":  json.RawMessage(waiting),
		own + "fencetargets":  json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceTargetList","items":[]}`),
		planePods:             json.RawMessage(`{"items":[]}`),
		reviews:               json.RawMessage(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{"username":"ann"}}}`),
	}
}

const waiting = `{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFence","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"spec":{"nodeName":"a"},
"status":{"fenceNumber":3,"phase":"Pending","reason":"WaitingForApproval","message":"m","decision":{"policy":{"name":"workers"},"settings":{"mode":"RequireApproval","action":"Reboot"}}}}`

// told is what the program was told, and what it said.
type told struct {
	code        int
	out, errors string
	patches     []string
}

// run runs a command line against the cluster. typed is what a person types; without it there is no
// terminal.
func (s served) run(t *testing.T, typed string, args ...string) told {
	t.Helper()
	return s.runIn(t.Context(), t, strings.NewReader(typed), io.Discard, typed != "", args...)
}

// runIn is run until ctx is done. A person types at in, if there is one, and sees what is said at seen.
func (s served) runIn(ctx context.Context, t *testing.T, in io.Reader, seen io.Writer, person bool, args ...string) told {
	t.Helper()
	var got told
	srv := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if off, is := s["Date"].(time.Duration); is {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
		}
		if words, is := s["Warning"].(string); is {
			w.Header().Set("Warning", fmt.Sprintf("299 - %q", words))
		}
		if r.Method == http.MethodPatch {
			var body json.RawMessage
			_ = json.NewDecoder(r.Body).Decode(&body)
			got.patches = append(got.patches, string(body))
			if code, refused := s["PATCH"].(string); refused {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, code)
				return
			}
		}
		if r.URL.Query().Get("watch") != "" {
			s.watch(w, r)
			return
		}
		answer := s[r.URL.Path]
		if f, is := answer.(func() any); is {
			answer = f()
		}
		switch x := answer.(type) {
		case func(*http.Request):
			x(r)
		case nil:
			if s["/"] == "plain" {
				http.NotFound(w, r)
				return
			}
			absent(w, r.URL.Path)
		case int:
			kubetest.Refuse(w, int32(x), reasons[x])
		default:
			kubetest.Answer(w, x)
		}
	}))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n", srv.Host)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	var out, problems strings.Builder
	p := &program{terminal: func() bool { return person }}
	if again, is := s["again"].(chan time.Time); is {
		p.again = again
	}
	p.IOStreams = genericiooptions.IOStreams{In: in, Out: &out, ErrOut: io.MultiWriter(&problems, seen)}
	if printed, is := s["printed"].(io.Writer); is {
		p.Out = io.MultiWriter(&out, printed)
	}
	got.code = p.run(ctx, args)
	got.out, got.errors = out.String(), problems.String()
	return got
}

// watch answers a watch: a channel has its events, and ends it when it is closed; an int refuses it; a func answers
// either, and nothing says nothing.
func (s served) watch(w http.ResponseWriter, r *http.Request) {
	answer := s["watch "+r.URL.Path]
	if r.URL.Query().Get("sendInitialEvents") == "true" { // as one that does not know this yet
		answer = http.StatusUnprocessableEntity
	} else if f, is := answer.(func() any); is {
		answer = f()
	}
	w.Header().Set("Content-Type", "application/json")
	if code, is := answer.(int); is {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reasons[code], Code: int32(code), Message: http.StatusText(code)})
		return
	}
	out, events := http.NewResponseController(w), (<-chan string)(nil)
	if c, is := answer.(chan string); is {
		events = c
	}
	for out.Flush() == nil {
		select {
		case <-r.Context().Done():
			return
		case e, more := <-events:
			if !more {
				return
			}
			fmt.Fprintln(w, e)
		}
	}
}

// reasons are those of refusals.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// absent is the API server's answer about what does not exist: a kind, or an object of one.
func absent(w http.ResponseWriter, path string) {
	st := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{}}
	if kind, name, of := strings.Cut(strings.TrimPrefix(path, own), "/"); of {
		st.Details.Kind, st.Details.Name = kind, name
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(st)
}

func (program) runWith(t *testing.T, typed string, args ...string) (int, string, string) {
	t.Helper()
	var out, problems strings.Builder
	p := &program{terminal: func() bool { return typed != "" }}
	p.IOStreams = genericiooptions.IOStreams{In: strings.NewReader(typed), Out: &out, ErrOut: &problems}
	return p.run(t.Context(), args), out.String(), problems.String()
}

// commands are all commands below the root.
func commands() []*cobra.Command { return (&program{}).root().Commands() }

// TestEveryCommandSaysHow: in one line and by examples that can be typed.
func TestEveryCommandSaysHow(t *testing.T) {
	if n := len(commands()); n < 18 {
		t.Errorf("only %d commands", n)
	}
	for _, c := range commands() {
		if c.Short == "" || c.Example == "" || c.GroupID == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q, example %q, group %q", c.Name(), c.Short, c.Example, c.GroupID)
		}
		for l := range strings.Lines(c.Example) {
			typeable(t, strings.TrimSpace(l))
		}
	}
}

var words = regexp.MustCompile(`"[^"]*"|\S+`)

// typeable checks that a line is one that the program takes.
func typeable(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	args := words.FindAllString(line, -1)
	if len(args) < 3 || args[0] != "kubectl" || args[1] != "fence" {
		t.Errorf("%q is no command line of kubectl fence", line)
		return
	}
	if err := takes(args[2:]); err != nil {
		t.Errorf("%q: %v", line, err)
	}
}

// takes is why the program does not take these words.
func takes(args []string) error {
	c, rest, err := (&program{}).root().Find(args)
	switch {
	case err != nil:
		return err
	case !c.HasParent() && !slices.Contains(args, "--help"):
		return errors.New("no command is named")
	}
	c.InitDefaultHelpFlag()
	switch err := c.ParseFlags(rest); {
	case err != nil:
		return err
	case c.Args != nil:
		return c.Args(c, c.Flags().Args())
	}
	return nil
}

// TestEveryAnswerCanBeTyped: what "why" says to run is a command line that exists.
func TestEveryAnswerCanBeTyped(t *testing.T) {
	inText := regexp.MustCompile(`\((kubectl fence [^)]*)\)`)
	for r, a := range view.Remedies() {
		lines := []string{a.Run}
		for _, m := range inText.FindAllStringSubmatch(a.Do, -1) {
			lines = append(lines, m[1])
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "kubectl fence ") {
				typeable(t, l)
			} else if l != "" && !strings.HasPrefix(l, "kubectl ") {
				t.Errorf("%s: %q", r, l)
			}
		}
	}
}

// TestWhatIsWrong is said in one sentence that says what to do.
func TestWhatIsWrong(t *testing.T) {
	none := served{}
	forbidden := calm()
	forbidden[own+"fencepolicies"] = http.StatusForbidden
	unsupported := calm()
	unsupported["PATCH"] = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"spec.x: Unsupported value: \"y\""}`
	denied := func(says string) served {
		in := calm()
		in["PATCH"] = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"nodefences.nodefence.io \"a\" is forbidden: ValidatingAdmissionPolicy 'nodefence-requests' with binding 'nodefence-requests' denied request: ` + says + `"}`
		return in
	}
	const second = "spec.requests.approve.at is in the same second as that of an approval which is answered already"
	older := func(field string) served {
		in := calm()
		in["PATCH"] = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"NodeFence in version \"v1alpha1\" cannot be handled as a NodeFence: strict decoding error: unknown field \"` + field + `\""}`
		return in
	}
	stopping := older("spec.stopReason")
	stopping[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"}}`)
	const forms = "or jsonpath=TEMPLATE or go-template=TEMPLATE of what json prints\n"
	for name, tc := range map[string]struct {
		in   served
		args []string
		want string
	}{
		"no kinds":         {none, []string{"status"}, "nodefence's kinds are not installed in this cluster: install nodefence as https://github.com/nodefence/nodefence/blob/main/infra/INSTALL.md says, or choose another --context\n"},
		"older kinds":      {older("spec.requests.approve.at"), []string{"approve", "a", "--yes"}, "nodefence's kinds are older in this cluster than kubectl-fence: use the kubectl-fence of nodefence's version there (NodeFence in version"},
		"an older reason":  {older("spec.requests.approve.reason"), []string{"approve", "a", "--yes", "--reason", "r"}, "nodefence's kinds are older in this cluster than kubectl-fence: leave out --reason, or use the kubectl-fence of nodefence's version there (NodeFence in version"},
		"two older fields": {older(`spec.requests.approve.reason\", unknown field \"spec.requests.approve.x`), []string{"approve", "a", "--yes", "--reason", "r"}, "nodefence's kinds are older in this cluster than kubectl-fence: use the kubectl-fence of nodefence's version there (NodeFence in version"},
		"an older stop":    {stopping, []string{"stop", "--yes", "--reason", "r"}, "nodefence's kinds are older in this cluster than kubectl-fence: leave out --reason, or use"},
		"no such value":    {unsupported, []string{"approve", "a", "--yes"}, `the API server refuses this: spec.x: Unsupported value: "y"; if nodefence's kinds are older in this cluster than kubectl-fence, use the kubectl-fence of nodefence's version there` + "\n"},
		"another fence":    {denied("this is fence 4 of a"), []string{"approve", "a", "--yes"}, "the API server refuses this: this is fence 4 of a\n"},
		"the same second":  {denied(second), []string{"approve", "a", "--yes"}, "the API server refuses this: " + second + "; repeat the command\n"},
		"a blank reason":   {calm(), []string{"ask", "a", "--reason", " ", "--yes"}, "say why, for those who read it later: --reason"},
		"no rights":        {forbidden, []string{"why", "a"}, "you may not do that: "},
		"no such node":     {calm(), []string{"why", "b"}, "node b does not exist; there are a"},
		"no past of it":    {calm(), []string{"history", "b"}, "node b does not exist; there are a\n"}, // and a, with a record, once
		"not that node":    {calm(), []string{"abort", "b", "--yes"}, "node b does not exist; there are a"},
		"no node":          {calm(), []string{"why"}, "name one node: kubectl fence why NODE"},
		"two nodes":        {calm(), []string{"approve", "a", "b"}, "name one node: kubectl fence approve NODE"},
		"status of a node": {calm(), []string{"status", "a"}, "kubectl fence status is about all nodes; of one: kubectl fence why a\n"},
		"device of a node": {calm(), []string{"devices", "a"}, "kubectl fence devices is about all nodes; of one: kubectl fence plan a\n"},
		"no such form":     {calm(), []string{"status", "-o", "xml"}, "-o xml: it takes one of [wide json yaml name], " + forms},
		"columns":          {calm(), []string{"status", "-o", "custom-columns=N:.node"}, "-o custom-columns=N:.node: it takes one of [wide json yaml name], " + forms},
		"no template":      {calm(), []string{"status", "-o", "jsonpath"}, "-o jsonpath: template format specified but no template given\n"},
		"a wrong template": {none, []string{"why", "a", "-o", "jsonpath={.node"}, "-o jsonpath={.node: error parsing jsonpath {.node, unclosed action\n"},
		"no help for it":   {calm(), []string{"help", "statsu"}, `unknown command "statsu" for "kubectl fence"; Did you mean this? status`},
		"no such command":  {calm(), []string{"statsu"}, `unknown command "statsu" for "kubectl fence"; Did you mean this? status`},
		"no such flag":     {calm(), []string{"status", "--wtach"}, "unknown flag: --wtach; see kubectl fence status --help\n"},
		"not a policy":     {calm(), []string{"pause", "fencepolicy.nodefence.io/w", "--yes"}, "there is no FencePolicy w: kubectl get fencepolicies lists what there is"},
		"no argument":      {calm(), []string{"init", "metal"}, `kubectl fence init takes no argument, and "metal" is one; see kubectl fence init --help` + "\n"},
		"no name to stop":  {calm(), []string{"stop", "now"}, `kubectl fence stop takes no argument, and "now" is one; see kubectl fence stop --help` + "\n"},
		"two histories":    {calm(), []string{"history", "a", "b"}, "name one node at most: kubectl fence history [NODE]"},
		"no such policy":   {calm(), []string{"pause", "w", "--yes"}, "there is no FencePolicy w: kubectl get fencepolicies lists what there is"},
		"no such dry run":  {calm(), []string{"approve", "a", "--dry-run", "perhaps"}, "--dry-run perhaps: it takes none, client or server"},
		"no kind of metal": {calm(), []string{"init"}, "say for which kind of machine: --for cattle|cloud|control-plane|metal"},
		"nobody to ask":    {calm(), []string{"approve", "a"}, "nothing was done, because nobody can be asked here: add --yes, or --dry-run=server to try it"},
		"nobody to type":   {calm(), []string{"confirm-off", "a"}, "nothing was done, because nobody can be asked here: add --confirm a, or --dry-run=server to try it"},
		"another name":     {calm(), []string{"confirm-off", "a", "--confirm", "b"}, "--confirm b is not the node's name, a: nothing was done"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.in.run(t, "", tc.args...)
			last := got.errors[strings.LastIndex(strings.TrimSpace(got.errors), "\n")+1:]
			if got.code != 1 || got.out != "" || !strings.HasPrefix(last, "error: "+tc.want) {
				t.Errorf("exit code %d: %s%s\nwant %s", got.code, got.out, got.errors, tc.want)
			}
			if _, sends := tc.in["PATCH"]; len(got.patches) > 0 && !sends {
				t.Errorf("written: %s", got.patches)
			}
		})
	}
}

// TestKindsThatAreNotServed are not taken for objects that do not exist: such an API server answers
// in plain words.
func TestKindsThatAreNotServed(t *testing.T) {
	for _, args := range [][]string{{"approve", "a", "--yes"}, {"pause", "workers", "--yes"}, {"stop", "--yes"}, {"bundle", "-f", filepath.Join(t.TempDir(), "b")}} {
		without := served{"/": "plain", "/api/v1/nodes": calm()["/api/v1/nodes"], reviews: calm()[reviews]}
		if got := without.run(t, "", args...); got.code != 1 || !strings.Contains(got.errors, "nodefence's kinds are not installed in this cluster") {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.errors)
		}
	}
}

// TestABundleOfNothing is refused, and leaves no file.
func TestABundleOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	for name, s := range map[string]served{"no kinds": {}, "no rights": {own + "nodefences": http.StatusForbidden}} {
		got := s.run(t, "", "bundle", "-f", file)
		if _, err := os.Stat(file); got.code != 1 || !os.IsNotExist(err) || !strings.Contains(got.errors, "no object of nodefence can be read") {
			t.Errorf("%s: exit code %d: %v: %s", name, got.code, err, got.errors)
		}
	}
	if got := calm().run(t, "", "bundle", "-f", file); got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.errors)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestPlanOfWrongFlags fails: its exit code is not that of a refused node.
func TestPlanOfWrongFlags(t *testing.T) {
	if code, _, problems := (program{}).runWith(t, "", "plan", "--raed", "a"); code != planFailed || problems != "error: unknown flag: --raed; see kubectl fence plan --help\n" {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// TestWrongValuesOfFlags are told in plain words.
func TestWrongValuesOfFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`--port takes a whole number, and not "abc"; see kubectl fence ui --help`:                {"ui", "--port", "abc"},
		`--timeout takes a duration such as 10m, and not "soon"; see kubectl fence drill --help`: {"drill", "a", "--timeout", "soon"},
		`-w, --watch takes true or false, and not "maybe"; see kubectl fence status --help`:      {"status", "--watch=maybe"},
		`the kubeconfig /nope can't be read: no such file or directory; correct --kubeconfig`:    {"status", "--kubeconfig", "/nope"},
	} {
		if _, _, problems := (program{}).runWith(t, "", args...); problems != "error: "+strings.TrimSpace(want)+"\n" {
			t.Errorf("%v: %s", args, problems)
		}
	}
}

// TestPlanWithoutNodefence has an exit code of its own, and its first line says what is absent.
func TestPlanWithoutNodefence(t *testing.T) {
	for name, c := range map[string]struct {
		leases string
		code   int
	}{
		"it runs":     {`"leases":{"observedAt":"` + stamp(time.Second) + `","since":"` + stamp(time.Hour) + `","renewal":"10s","total":1}`, 0},
		"it does not": {`"leases":{"observedAt":"` + stamp(time.Hour) + `","since":"` + stamp(2*time.Hour) + `","renewal":"10s","total":1}`, planAbsent},
	} {
		s := drillable(c.leases)
		s[own+"fencepolicies"] = json.RawMessage(enforced)
		for _, args := range [][]string{{"plan", "a"}, {"plan", "--all"}} {
			got := s.run(t, "", args...)
			if noted := strings.HasPrefix(got.errors, "note: nodefence has not looked at the Leases since "); got.code != c.code || noted != (c.code != 0) {
				t.Errorf("%s: %v: exit code %d: %s%s", name, args, got.code, got.out, got.errors)
			}
		}
	}
}

// TestHelpNamesNoScript that would not complete "kubectl fence".
func TestHelpNamesNoScript(t *testing.T) {
	if code, out, problems := (program{}).runWith(t, "", "--help"); code != 0 || problems != "" || !strings.Contains(out, "\n  status ") || strings.Contains(out, "completion") {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
}

// TestVersion is told without a cluster.
func TestVersion(t *testing.T) {
	if code, out, problems := (program{}).runWith(t, "", "--version"); code != 0 || !strings.HasPrefix(out, "kubectl fence version "+buildinfo.Version()) {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
}

// TestNoCluster is named, and how to name one.
func TestNoCluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for kubeconfig, want := range map[string]string{
		"":         "error: no cluster is named: set --kubeconfig, --context or KUBECONFIG\n",
		"/nowhere": "error: no cluster is named: KUBECONFIG names /nowhere, and there is no such file; correct KUBECONFIG, or set --kubeconfig\n",
	} {
		t.Setenv("KUBECONFIG", kubeconfig)
		for _, args := range [][]string{{"status"}, {"plan", "a"}, {"stop", "--yes"}} {
			code, out, problems := program{}.runWith(t, "", args...)
			if code == 0 || out != "" || !strings.HasSuffix(problems, want) {
				t.Errorf("%v: exit code %d: %s%s\nwant %s", args, code, out, problems, want)
			}
		}
	}
	code, _, problems := program{}.runWith(t, "", "status", "--server", "http://127.0.0.1:1")
	if code != 1 || !strings.HasPrefix(problems, "error: the API server does not answer at 127.0.0.1:1: check --context") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// TestNoContext is no API server on this machine that does not answer.
func TestNoContext(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const cluster = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: http://127.0.0.1:1}}]\n"
	for contexts, want := range map[string]string{
		"contexts: [{name: z, context: {cluster: c}}, {name: x, context: {cluster: c}}]\n": "no context is chosen: set --context, or choose one with kubectl config use-context; the kubeconfig has x, z\n",
		"": "no context is chosen, and the kubeconfig has none: set --cluster, or make one with kubectl config set-context\n",
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(cluster+contexts), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", file)
		if code, _, problems := (program{}).runWith(t, "", "status"); code != 1 || problems != "error: "+want {
			t.Errorf("exit code %d: %s\nwant %s", code, problems, want)
		}
		if _, _, problems := (program{}).runWith(t, "", "status", "--cluster", "c"); !strings.HasPrefix(problems, "error: the API server does not answer at 127.0.0.1:1: ") {
			t.Errorf("with --cluster: %s", problems)
		}
	}
}

// TestWarnings of the API server are said as kubectl says them.
func TestWarnings(t *testing.T) {
	s := calm()
	s[own+"fencepolicies/workers"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FencePolicy","metadata":{"name":"workers"},"spec":{"selector":{},"mode":"RequireApproval","action":"Reboot"}}`)
	s["Warning"] = "limits.maxUnhealthy is 0: no fence begins under this policy"
	if got := s.run(t, "", "pause", "fencepolicy.nodefence.io/workers", "--yes"); got.code != 0 || len(got.patches) != 1 || !strings.HasPrefix(got.errors, "Warning: limits.maxUnhealthy is 0: no fence begins under this policy\n") {
		t.Errorf("exit code %d, written: %s: %s", got.code, got.patches, got.errors)
	}
}

// TestWhyThereIsNoAnswer: an API server that is not asked, or not believed, is no dead one.
func TestWhyThereIsNoAnswer(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the client that does not believe it
	srv.StartTLS()
	defer srv.Close()
	at := strings.TrimPrefix(srv.URL, "https://")
	for _, tc := range []struct{ cluster, user, want string }{
		{"", "{}", "the certificate of the API server at " + at + " is not trusted here: check --context, and the kubeconfig's certificate-authority: tls: failed to verify certificate: x509: "},
		{"insecure-skip-tls-verify: true, ", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-login, interactiveMode: Never}}", "the kubeconfig gives no credentials for " + at + ": log in again, or choose another --context: getting credentials: exec: executable no-such-login not found"},
	} {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {%sserver: %q}}]\nusers: [{name: u, user: %s}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", tc.cluster, srv.URL, tc.user)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBECONFIG", file)
		if code, _, problems := (program{}).runWith(t, "", "status"); code != 1 || !strings.HasPrefix(problems, "error: "+tc.want) {
			t.Errorf("exit code %d: %s\nwant %s", code, problems, tc.want)
		}
	}
}

// TestAPersonIsAsked: nothing is written without a yes, or the name.
func TestAPersonIsAsked(t *testing.T) {
	for _, tc := range []struct {
		typed  string
		args   []string
		writes int
	}{
		{"yes\n", []string{"approve", "a"}, 1}, {"y\n", []string{"approve", "a"}, 1}, {"no\n", []string{"approve", "a"}, 0}, {"\n", []string{"approve", "a"}, 0}, {"a\n", []string{"approve", "a"}, 0},
		{"a\n", []string{"confirm-off", "a"}, 1}, {"yes\n", []string{"confirm-off", "a"}, 0}, {"b\n", []string{"confirm-off", "a"}, 0},
		{"no\n", []string{"approve", "a", "--yes"}, 1}, {"no\n", []string{"confirm-off", "a", "--confirm", "a"}, 1}, {"a\n", []string{"confirm-off", "a", "--confirm", "b"}, 0},
		{"yes\n", []string{"approve", "a", "--dry-run", "client"}, 0}, {"no\n", []string{"approve", "a", "--dry-run", "server"}, 1},
	} {
		got := calm().run(t, tc.typed, append(tc.args, "--wait=0s")...)
		dry := strings.Contains(strings.Join(tc.args, " "), "dry-run")
		if len(got.patches) != tc.writes || (got.code == 0) != (tc.writes > 0 || dry) || !strings.Contains(got.errors, "Fence 3 of node a, under policy workers") {
			t.Errorf("%q to %v: exit code %d, written: %s\n%s", tc.typed, tc.args, got.code, got.patches, got.errors)
		}
	}
	got := calm().run(t, "", "approve", "a", "--yes", "--wait=0s")
	if len(got.patches) != 1 || !strings.Contains(got.patches[0], `"by":"ann","fenceNumber":3`) || !strings.Contains(got.patches[0], `"uid":"u"`) {
		t.Errorf("written: %s", got.patches)
	}
}

// TestTheAPIServersClock says what is over, and not the clock of this machine: here that is ten minutes fast.
func TestTheAPIServersClock(t *testing.T) {
	s := calm()
	s["Date"] = -10 * time.Minute
	stamp := func(ago time.Duration) string {
		return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},
		"status":{"storms":[{"policy":"workers","since":"` + stamp(time.Hour) + `","coolDownUntil":"` + stamp(5*time.Minute) + `"}]}}`)
	if got := s.run(t, "", "end-cool-down", "--reason", "the switch is replaced", "--yes"); got.code != 0 || len(got.patches) != 1 {
		t.Errorf("exit code %d, written: %s: %s", got.code, got.patches, got.errors)
	}
}

// asks calls what it is when a person is asked.
type asks func()

func (a asks) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "(yes/no)") {
		a()
	}
	return len(text), nil
}

// TestCtrlC ends a question, and nothing is done.
func TestCtrlC(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	in, _ := io.Pipe()
	got := calm().runIn(ctx, t, in, asks(interrupt), true, "approve", "a", "--wait=0s")
	_ = in.Close()
	if got.code != 1 || len(got.patches) > 0 || !strings.HasSuffix(got.errors, "(yes/no) \nerror: nothing was done, because it was interrupted\n") {
		t.Errorf("exit code %d, written: %s: %s", got.code, got.patches, got.errors)
	}
}

// TestAClosedTerminal ends a command as Ctrl-C does.
func TestAClosedTerminal(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) { // this test was started to outlive its terminal
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, syscall.SIGHUP)
		defer signal.Stop(heard)
	}
	ctx, stop := signal.NotifyContext(t.Context(), ending()...)
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-ctx.Done() // without it the signal ends this test's program
}

// TestCtrlCWhileItReads is no API server that does not answer, and a bundle of half of it is none.
func TestCtrlCWhileItReads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	for path, args := range map[string][]string{own + "fencepolicies": {"status"}, own + "nodeproblempolicies": {"bundle", "-f", file}, own + "nodefences": {"bundle", "-f", file}} {
		ctx, interrupt := context.WithCancel(t.Context())
		s := calm()
		s[path] = func(r *http.Request) {
			interrupt()
			<-r.Context().Done() // the client has gone
		}
		got := s.runIn(ctx, t, nil, io.Discard, false, args...)
		if got.code != 1 || !strings.HasSuffix(got.errors, "error: interrupted\n") {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.errors)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%v: a file is left: %v", args, err)
		}
	}
}

// TestNothingIsAnEmptyList for programs, and not null.
func TestNothingIsAnEmptyList(t *testing.T) {
	s := calm()
	s["/api/v1/nodes"] = json.RawMessage(`{"apiVersion":"v1","kind":"NodeList","items":[]}`)
	for _, kind := range []string{"fencepolicies", "nodefences", "fencetargets", "fencebudgets", "nodeproblempolicies"} {
		s[own+kind] = json.RawMessage(`{"items":[]}`)
	}
	s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},"status":{"leases":{"observedAt":"` + stamp(time.Second) + `"}}}`)
	s["/api/v1/namespaces/nodefence-system/configmaps"] = json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMapList","items":[]}`)
	for _, args := range [][]string{{"status"}, {"history"}, {"devices"}, {"plan", "--all"}} {
		got := s.run(t, "", append(args, "-o", "json")...)
		if want := "{\n    \"items\": []\n}\n"; got.code != 0 || got.out != want {
			t.Errorf("%v: exit code %d: %s%s\nwant %s", args, got.code, got.out, got.errors, want)
		}
	}
}

// TestCompletion offers the names that a command is about.
func TestCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"a\n":                                   {"why", ""},
		"workers\n":                             {"pause", "w"},
		"":                                      {"pause", "x"},
		"cattle\ncloud\ncontrol-plane\nmetal\n": {"init", "--for", ""},
		"x\n":                                   {"status", "--context", ""},
		"kube-system\nnodefence-system\n":       {"why", "a", "-n", ""},
	} {
		s := calm()
		s["/api/v1/namespaces"] = json.RawMessage(`{"apiVersion":"v1","kind":"NamespaceList","items":[{"metadata":{"name":"kube-system"}},{"metadata":{"name":"nodefence-system"}}]}`)
		got := s.run(t, "", append([]string{"__complete"}, args...)...)
		if names, _, _ := strings.Cut(got.out, ":"); names != want {
			t.Errorf("%v: %q, want %q", args, got.out, want)
		}
	}
}

// TestForeignTextsOnATerminal: what others write in reasons and messages begins no line of its own, and no command
// writes a control character of theirs. That kubectl's tables and templates do neither is kubectl's.
func TestForeignTextsOnATerminal(t *testing.T) {
	const foreign = `fan\r\nproof SeenOff\u001b[2K\u009b1A`
	at := stamp(time.Minute)
	s := drillable(`"leases":{"observedAt":"` + stamp(time.Second) + `"}`)
	s[own+"fencepolicies"] = json.RawMessage(enforced)
	record := strings.NewReplacer(`"message":"m"`, `"message":"`+foreign+`","openedAt":"`+at+`","history":[{"at":"`+at+`","phase":"Pending","reason":"WaitingForApproval","message":"`+foreign+`"}],
		"answers":[{"request":"Approve","by":"`+foreign+`","at":"`+at+`","result":"Accepted","message":"`+foreign+`"}]`).Replace(waiting)
	s[own+"nodefences"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"NodeFenceList","items":[` + record + `]}`)
	s[own+"nodefences/a"] = json.RawMessage(record)
	s[own+"fenceledgers/cluster"] = json.RawMessage(`{"apiVersion":"nodefence.io/v1alpha1","kind":"FenceLedger","metadata":{"name":"cluster"},"spec":{"stop":true,"stopReason":"` + foreign + `"}}`)
	for _, args := range [][]string{
		{"status"}, {"why", "a"}, {"history", "a"}, {"approve", "a", "--dry-run", "client"}, {"abort", "a", "--dry-run", "client"}, {"ask", "a", "--reason", "r", "--dry-run", "client"},
		{"start", "--dry-run", "client"}, {"plan", "a"},
	} {
		got := s.run(t, "", args...)
		said := got.out + got.errors
		if !strings.Contains(said, "proof SeenOff") || strings.Contains(said, "\nproof") || strings.ContainsAny(said, "\r\x1b\u009b") {
			t.Errorf("%v: %q", args, said)
		}
	}
}
