package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
	"github.com/nodefence/nodefence/test/rig/port"
)

// podAccount is the account of nodefence-local in a cluster.
const podAccount = "system:serviceaccount:nodefence-system:nodefence-local"

// TestEachFunctionActsAsItsAccountInOneProcess: nodefence-local has an account that may do nothing but impersonate the
// accounts of the functions, and fences a node. The audit log names the account of the function that wrote, as it does
// where each function has pods of its own (S20: Kubernetes says who may ask).
func TestEachFunctionActsAsItsAccountInOneProcess(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.standalone()
	p := w.start(func(o *local.Options) {
		o.Config, o.Elect, o.Accounts = w.tokenOf("nodefence-local"), true, "nodefence-system"
	})
	must(t, p.Watching(w.ctx))
	first := w.database(1)
	w.node(first, "crash")
	w.moved("db-0", first)
	w.ended(first, api.Recovered)
	w.words(first, "off on")
	w.unmarked(first)
	w.oneWriter()
	w.until("each function to have written as itself", func() (bool, error) {
		wrote, err := writersAs(w, podAccount)
		missing := slices.DeleteFunc([]string{"gate", "isolate", "power", "cleanup", "recover", "policystatus", "source"}, func(f string) bool {
			return slices.Contains(wrote, "nodefence-"+f)
		})
		return len(missing) == 0, err
	})
	wrote, err := writersAs(w, podAccount)
	must(t, err)
	if slices.Contains(wrote, "") {
		t.Errorf("the account of the pod has written as itself, beside %v", wrote)
	}
	if strings.Contains(w.log.String(), "forbidden") {
		t.Errorf("a function was refused")
	}
}

// TestTheAccountOfAPodHasNoOtherRight: what the account of nodefence-local may do by itself is to impersonate the
// accounts whose rights infra/accounts grants, and no other account, user or group.
func TestTheAccountOfAPodHasNoOtherRight(t *testing.T) {
	w := newWorld(t, 1, quick)
	accounts := w.standalone()
	cfg := w.tokenOf("nodefence-local")
	client, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	as := func(resource, namespace, name string) bool {
		r, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(w.ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Resource: resource, Namespace: namespace, Name: name, Verb: "impersonate"},
		}}, metav1.CreateOptions{})
		must(t, err)
		return r.Status.Allowed
	}
	for _, name := range accounts {
		if !as("serviceaccounts", "nodefence-system", name) {
			t.Errorf("it may not act as %s", name)
		}
		if as("serviceaccounts", "kube-system", name) || as("serviceaccounts", "nodefence-devices", name) {
			t.Errorf("it may act as %s of another namespace", name)
		}
	}
	for _, other := range [][3]string{
		{"serviceaccounts", "nodefence-system", "default"}, {"serviceaccounts", "nodefence-system", "nodefence-local"}, {"serviceaccounts", "nodefence-system", ""},
		{"users", "", "system:admin"}, {"groups", "", "system:masters"}, {"uids", "", ""},
	} {
		if as(other[0], other[1], other[2]) {
			t.Errorf("it may act as %v", other)
		}
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(w.ctx, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "nodefence-system"}}, metav1.CreateOptions{})
	must(t, err)
	var own []authorizationv1.ResourceRule
	for _, r := range review.Status.ResourceRules {
		if !slices.ContainsFunc(r.APIGroups, func(g string) bool { return g == "authorization.k8s.io" || g == "authentication.k8s.io" }) {
			own = append(own, r)
		}
	}
	want := []authorizationv1.ResourceRule{{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: accounts}}
	if d := cmp.Diff(want, own); d != "" {
		t.Errorf("the rights of the account in its namespace; want (-), got (+):\n%s", d)
	}
}

// TestTheOtherReplicaFencesTheLeadersNode: two replicas run as the Deployment says, with the rights of its account, and
// the node of the leader is reported bad while the leader lives. The leader gives up the lead, and the other replica
// fences the node (S13: never its own machine).
func TestTheOtherReplicaFencesTheLeadersNode(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.standalone()
	d := w.deployment()
	first := w.database(1)
	others := slices.DeleteFunc([]string{"node-1", "node-2", "node-3"}, func(n string) bool { return n == first })
	leader := w.replica(d, first)
	w.until("the first replica to lead", func() (bool, error) { return strings.Contains(leader.String(), `"msg":"watching"`), nil })
	w.replica(d, others[0])
	w.node(first, "crash")
	w.moved("db-0", first)
	w.ended(first, api.Recovered)
	w.words(first, "off on")
	w.unmarked(first)
	w.oneWriter()
	if !strings.Contains(leader.String(), "gave up the lead") {
		t.Errorf("the leader did not give up the lead")
	}
}

// TestThePodsAreRestricted: the API server takes the manifests, places the replicas on two nodes, and takes a pod of
// theirs where only pods of the standard "restricted" are taken.
func TestThePodsAreRestricted(t *testing.T) {
	w := newWorld(t, 3, quick)
	w.standalone()
	d := w.deployment()
	var on []string
	w.until("two pods to have nodes", func() (bool, error) {
		pods, err := w.Kube.CoreV1().Pods("nodefence-system").List(w.ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
		on = nil
		for _, p := range pods.Items {
			if p.Spec.NodeName != "" {
				on = append(on, p.Spec.NodeName)
			}
		}
		return len(on) == 2, err
	})
	if on[0] == on[1] {
		t.Errorf("both replicas are on %s", on[0])
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tried"}, Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName = "default", ""
	_, err := w.Kube.CoreV1().Pods("nodefence-checks").Create(w.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	must(t, err)
	pod.Spec.Containers[0].SecurityContext = nil
	_, err = w.Kube.CoreV1().Pods("nodefence-checks").Create(w.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("the namespace takes any pod: %v", err)
	}
}

// TestHelmInstallsStandalone: the README's commands for a cluster install the released chart, which ends Ready and says
// what the cluster shows, and give a first verdict. Two processes that run as its Deployment says, with its account, create
// the ledger and fence a node. `helm uninstall` takes what runs, and keeps the kinds.
func TestHelmInstallsStandalone(t *testing.T) {
	w := newWorld(t, 3, quick)
	must(t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster").Do(w.ctx).Error())
	_, err := w.Kube.CoreV1().Nodes().Patch(w.ctx, "node-2", types.MergePatchType, []byte(`{"spec":{"providerID":"aws:///eu-central-1a/i-0"}}`), metav1.PatchOptions{})
	must(t, err)
	q := w.quickStart()
	if notes, code := q.run(0); code != 0 || !strings.Contains(notes, "for machines of aws") || !strings.Contains(notes, "kubectl fence init --for cloud") {
		t.Fatalf("the notes do not say what the cluster shows: exit code %d, %s", code, notes)
	}
	d, err := w.Kube.AppsV1().Deployments("nodefence-system").Get(w.ctx, "nodefence-local", metav1.GetOptions{})
	must(t, err)
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/nodefence/nodefence-local:v0.1.0" {
		t.Errorf("the image is %s", image)
	}
	first := w.database(1)
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		if node != first {
			w.replica(d, node)
		}
	}
	w.until("the ledger to be there", func() (bool, error) {
		err := w.Kube.CoreV1().RESTClient().Get().AbsPath("/apis/nodefence.io/v1alpha1/fenceledgers/cluster").Do(w.ctx).Error()
		return err == nil, nil
	})
	w.node(first, "crash")
	w.moved("db-0", first)
	w.ended(first, api.Recovered)
	w.words(first, "off on")
	w.oneWriter()
	w.firstVerdict(q)
	w.inRelease("tool", "helm", "uninstall", "nodefence", "--namespace", "nodefence-system", "--wait")
	if _, err := w.Kube.AppsV1().Deployments("nodefence-system").Get(w.ctx, "nodefence-local", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
	if f, err := w.Fences.Fence(w.ctx, first); err != nil || f == nil {
		t.Errorf("the record is gone: %v", err)
	}
}

// inRelease runs the go command in the module of the release, with the lab's kubeconfig, and returns what it prints.
func (w *world) inRelease(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, "go", args...)
	cmd.Dir = filepath.Join(w.root(), "infra/release")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Lab.Kubeconfig, "HELM_DRIVER=secret")
	said, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return string(said)
}

// deployment applies what infra/standalone has beside the rights, and returns its Deployment.
func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	for _, file := range []string{"availability", "network", "requests", "deployment"} {
		must(w.t, w.ApplyFile(w.ctx, filepath.Join(w.root(), "infra/standalone", file+".yaml")))
	}
	d, err := w.Kube.AppsV1().Deployments("nodefence-system").Get(w.ctx, "nodefence-local", metav1.GetOptions{})
	must(w.t, err)
	return d
}

// replica runs bin/nodefence-local with the arguments, the variables and the account of a pod on a node, and returns
// its log.
func (w *world) replica(d *appsv1.Deployment, node string) *rig.Log {
	w.t.Helper()
	bin, err := rig.Bin("nodefence-local")
	must(w.t, err)
	c := d.Spec.Template.Spec.Containers[0]
	fields := map[string]string{"spec.nodeName": node, "metadata.namespace": d.Namespace}
	cmd := exec.CommandContext(w.ctx, bin, "--kubeconfig="+w.kubeconfigOf(d.Spec.Template.Spec.ServiceAccountName))
	for _, arg := range c.Args {
		flag, _, _ := strings.Cut(arg, "=")
		switch flag {
		case "--data-dir":
			arg = flag + "=" + w.t.TempDir()
		case "--listen", "--listen-probes", "--listen-requests":
			addr, err := port.Free()
			must(w.t, err)
			arg = flag + "=" + addr
		}
		cmd.Args = append(cmd.Args, arg)
	}
	cmd.Env = append(os.Environ(), "NODEFENCE_NODE_NETWORKS="+rig.Loopback, "NODEFENCE_DEVICE_CALL_TIMEOUT=5s")
	for _, e := range c.Env {
		if e.ValueFrom != nil {
			e.Value = fields[e.ValueFrom.FieldRef.FieldPath]
		}
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	log := &rig.Log{}
	cmd.Stdout, cmd.Stderr = log, log
	must(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("the replica on %s:\n%s", node, log.String())
		}
	})
	return log
}

// kubeconfigOf is a kubeconfig of an account in nodefence-system.
func (w *world) kubeconfigOf(account string) string {
	w.t.Helper()
	cfg := w.tokenOf(account)
	must(w.t, rest.LoadTLSFiles(cfg))
	k := clientcmdapi.NewConfig()
	k.Clusters["lab"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData, TLSServerName: cfg.ServerName}
	k.AuthInfos["pod"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	k.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "pod"}
	k.CurrentContext = "lab"
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	must(w.t, clientcmd.WriteToFile(*k, file))
	return file
}

// standalone applies the rights of the functions' accounts and of the pod's, and returns the accounts of the functions.
func (w *world) standalone() []string {
	w.t.Helper()
	infra := filepath.Join(w.root(), "infra")
	accounts := filepath.Join(infra, "accounts/rights.yaml")
	must(w.t, w.ApplyFile(w.ctx, accounts))
	must(w.t, w.ApplyFile(w.ctx, filepath.Join(infra, "standalone/rights.yaml")))
	all := map[string]bool{}
	for _, r := range grants(w.t, accounts) {
		all[r.account] = true
	}
	w.granted(grants(w.t, accounts))
	w.granted(grants(w.t, filepath.Join(infra, "standalone/rights.yaml")))
	return slices.Sorted(maps.Keys(all))
}

// tokenOf is the configuration of an account in nodefence-system.
func (w *world) tokenOf(account string) *rest.Config {
	w.t.Helper()
	r, err := w.Kube.CoreV1().ServiceAccounts("nodefence-system").CreateToken(w.ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(w.t, err)
	cfg := rest.AnonymousClientConfig(w.Config)
	cfg.BearerToken = r.Status.Token
	return cfg
}

// writersAs returns the accounts as which a user has written, without their namespace; "" is the user itself.
func writersAs(w *world, user string) ([]string, error) {
	found := map[string]bool{}
	files, err := w.Lab.AuditLogs()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				User             struct{ Username string }
				ImpersonatedUser struct{ Username string }
			}
			if json.Unmarshal([]byte(line), &e) == nil && e.User.Username == user {
				found[e.ImpersonatedUser.Username[strings.LastIndex(e.ImpersonatedUser.Username, ":")+1:]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
