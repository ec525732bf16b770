package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/infra/crd/trusted"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/test/rig"
)

// outsiders are accounts that are not nodefence's. NodeHealthCheck's controller collects the roles with its label.
// Account several has the rights of all programs, as that of nodefence-local has.
const outsiders = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenants, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: User, name: tenant}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ext-remediation}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.ext-remediation/aggregate-to-ext-remediation: "true"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodehealthcheck}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ext-remediation}
subjects: [{kind: User, name: nodehealthcheck}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: several}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: several}
subjects: [{kind: ServiceAccount, name: several, namespace: nodefence-system}]
`

// adoptedPolicy is a FencePolicy as policystatus makes it of a MachineHealthCheck, with a person's pause.
const adoptedPolicy = `
apiVersion: nodefence.io/v1alpha1
kind: FencePolicy
metadata: {name: mhc-x, labels: {nodefence.io/adopted-from: machine-health-check}, annotations: {nodefence.io/machine-health-check: g/n/x}}
spec: {selector: {matchLabels: {machine-health-check.nodefence.io/mhc-x: "true"}}, mode: Enforce, precedence: 1000, limits: {maxUnhealthy: 1}, pauseRequests: [ada]}
`

// column is an account as the API server sees it.
type column struct {
	name   string
	groups []string
	user   func(trusted.Row, string) string
}

// TestEachTrustedFieldHasItsWriters makes each write of infra/crd/trusted/trusted.yaml, as a dry run, as each
// account: those that the table names succeed, every other is refused, by RBAC or with the sentence of an
// admission policy (S1, S11, S14, S17, S20). Functions have an account for each, in the cluster or as a group on
// AWS; an account that runs all of them writes what any of them may. A kubelet, a tenant with role edit and
// NodeHealthCheck's controller write nothing that leads to an Off of a healthy node.
func TestEachTrustedFieldHasItsWriters(t *testing.T) {
	w := newWorld(t, 3, quick)
	rows, err := trusted.Rows()
	must(t, err)
	rights, err := trusted.Rights(filepath.Join(w.root(), "infra"))
	must(t, err)
	w.accounts(rights)
	must(t, w.ApplyFile(w.ctx, filepath.Join(w.root(), "infra/standalone/rights.yaml")))
	w.trustedObjects()
	w.until("the admission policies to hold", func() (bool, error) {
		return strings.Contains(w.wrote(column{name: "recover", user: inCluster}, rows[0], "node-1", "patch"), rows[0].Says[0]), nil
	})
	tried := map[string]int{}
	for _, row := range rows {
		for _, c := range accountsToTry() {
			for _, name := range row.Names {
				w.cell(c, row, name, rights, tried)
			}
		}
	}
	t.Logf("cells: %v", tried)
}

// root is the folder of the repository.
func (w *world) root() string {
	w.t.Helper()
	root, err := rig.Root()
	must(w.t, err)
	return root
}

func inCluster(_ trusted.Row, name string) string {
	return "system:serviceaccount:nodefence-system:nodefence-" + name
}

// accountsToTry are the accounts of the functions in a cluster and on AWS, one that runs them all, and the others.
func accountsToTry() (all []column) {
	for _, name := range trusted.Accounts {
		all = append(all, column{name: name, user: inCluster})
		if name != "source" && name != "adopt" {
			all = append(all, column{name: name, groups: []string{"nodefence-" + name}, user: func(trusted.Row, string) string { return "assumed-role" }})
		}
	}
	all = append(all, column{name: "several", user: func(trusted.Row, string) string { return "system:serviceaccount:nodefence-system:several" }})
	return append(all,
		column{name: "kubelet", groups: []string{"system:nodes"}, user: nil},
		column{name: "local", user: inCluster}, // of the standalone pods, which write nothing as themselves
		column{name: "tenant", user: func(trusted.Row, string) string { return "tenant" }},
		column{name: "nodehealthcheck", user: func(trusted.Row, string) string { return "nodehealthcheck" }})
}

// as is the user of a column for a row about one object.
func (c column) as(row trusted.Row, object string) string {
	if c.name != "kubelet" {
		return c.user(row, c.name)
	}
	if row.Object == "Node" {
		return "system:node:" + object
	}
	return "system:node:node-1"
}

// cell makes one write as one account, and compares what the API server says with the table.
func (w *world) cell(c column, row trusted.Row, object string, rights []trusted.Right, tried map[string]int) {
	w.t.Helper()
	verb, may := row.Granted(c.name, rights), slices.Contains(row.By, c.name)
	switch {
	case c.name == "several":
		verb, may = w.ofAny(row, rights)
	case !slices.Contains(trusted.Accounts, c.name):
		verb = row.Verbs()[0]
	}
	ruled := verb != "" && slices.Contains(trusted.Accounts, c.name)
	if verb == "" {
		verb = row.Verbs()[0]
	}
	says := w.wrote(c, row, object, verb)
	byPolicy := slices.ContainsFunc(row.Says, func(s string) bool { return strings.Contains(says, s) })
	where := fmt.Sprintf("%s, %s %v, %s %s", row.Field, c.name, c.groups, verb, object)
	switch {
	case may && says != "":
		w.t.Errorf("%s: is refused: %s", where, says)
	case !may && says == "":
		w.t.Errorf("%s: succeeds", where)
	case !may && ruled && !byPolicy:
		w.t.Errorf("%s: RBAC grants it, and the policy says %q, want %q", where, says, row.Says)
	case !may && !ruled && !strings.Contains(says, "forbidden") && !byPolicy:
		w.t.Errorf("%s: is refused by %q", where, says)
	}
	switch {
	case may:
		tried["written"]++
	case byPolicy:
		tried["refused by policy"]++
	default:
		tried["refused by RBAC or NodeRestriction"]++
	}
}

// ofAny is the verb by which some account of nodefence has the right to the write of a row. The account that has
// all of their rights is held to none of the functions: RBAC, the verbs of people's requests, and what no account may
// write are its bounds.
func (w *world) ofAny(row trusted.Row, rights []trusted.Right) (string, bool) {
	for _, name := range trusted.Accounts {
		if verb := row.Granted(name, rights); verb != "" {
			refused := slices.ContainsFunc(row.Says, func(s string) bool {
				return strings.Contains(s, "needs the verb") && !strings.Contains(s, "abort") || strings.HasPrefix(s, "no account takes ")
			})
			return verb, !refused
		}
	}
	return "", false
}

// wrote makes a write as a dry run, and returns how the API server refuses it.
func (w *world) wrote(c column, row trusted.Row, object, verb string) string {
	w.t.Helper()
	user := c.as(row, object)
	cfg := rest.CopyConfig(w.Config)
	cfg.QPS, cfg.Burst = 1000, 1000
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append([]string{"system:authenticated"}, c.groups...)}
	client, err := kubernetes.NewForConfig(cfg)
	must(w.t, err)
	core, path := client.CoreV1().RESTClient(), w.pathOf(row, object)
	var said error
	w.until("nobody else to write "+object, func() (bool, error) {
		said = w.send(core, path, row, verb, user)
		return !apierrors.IsConflict(said), nil
	})
	if said == nil {
		return ""
	}
	return said.Error()
}

// send makes the write by a verb. A writer who may only update sends the whole object.
func (w *world) send(core rest.Interface, path string, row trusted.Row, verb, user string) error {
	w.t.Helper()
	body := func(v map[string]any) []byte {
		raw, err := json.Marshal(v)
		must(w.t, err)
		return []byte(strings.ReplaceAll(string(raw), "$user", user))
	}
	r := core.Verb(map[string]string{"create": http.MethodPost, "delete": http.MethodDelete, "patch": http.MethodPatch, "update": http.MethodPut}[verb]).AbsPath(path).Param("dryRun", "All")
	switch verb {
	case "create":
		r = r.SetHeader("Content-Type", "application/json").Body(body(row.Create))
	case "patch":
		kind := types.MergePatchType
		if row.Object == "Node" {
			kind = types.StrategicMergePatchType
		}
		patch := row.Patch
		if row.Untaint != "" {
			patch = w.without(path, row.Untaint)
		}
		r = r.SetHeader("Content-Type", string(kind)).Body(body(patch))
	case "update":
		raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath(path).Do(w.ctx).Raw()
		must(w.t, err)
		object := map[string]any{}
		must(w.t, json.Unmarshal(raw, &object))
		mergeInto(object, row.Patch)
		r = r.SetHeader("Content-Type", "application/json").Body(body(object))
	}
	return r.Do(w.ctx).Error()
}

// without is the patch of a Node that removes one taint and keeps the others.
func (w *world) without(path, key string) map[string]any {
	w.t.Helper()
	raw, err := w.Kube.CoreV1().RESTClient().Get().AbsPath(path).Do(w.ctx).Raw()
	must(w.t, err)
	var n corev1.Node
	must(w.t, json.Unmarshal(raw, &n))
	rest := slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	return map[string]any{"metadata": map[string]any{"resourceVersion": n.ResourceVersion}, "spec": map[string]any{"taints": rest}}
}

// mergeInto is a JSON merge patch.
func mergeInto(object, patch map[string]any) {
	for key, value := range patch {
		switch below, isMap := value.(map[string]any); {
		case value == nil:
			delete(object, key)
		case isMap:
			was, is := object[key].(map[string]any)
			if !is {
				was = map[string]any{}
				object[key] = was
			}
			mergeInto(was, below)
		default:
			object[key] = value
		}
	}
}

// pathOf is where a row's object is; of one that is created, its collection.
func (w *world) pathOf(row trusted.Row, object string) string {
	path := "/api/v1"
	if group := row.Group(); group != "" {
		path = "/apis/" + group + "/" + map[string]string{"nodefence.io": "v1alpha1", "coordination.k8s.io": "v1", "cluster.x-k8s.io": "v1beta2"}[group]
	}
	if row.Namespace != "" {
		path += "/namespaces/" + row.Namespace
	}
	resource, sub, has := strings.Cut(row.Plural(), "/")
	if path += "/" + resource; row.Create != nil {
		return path
	}
	if path += "/" + object; has {
		path += "/" + sub
	}
	return path
}

// accounts gives each account its rights, and waits until the API server knows them.
func (w *world) accounts(rights []trusted.Right) {
	w.t.Helper()
	for _, name := range []string{"openshift-workload-availability", "medik8s-leases", "nodefence-jobs", "nodefence-kdump"} {
		_, err := w.Kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(w.t, err)
	}
	infra := filepath.Join(w.root(), "infra")
	files, err := trusted.Files(infra)
	must(w.t, err)
	onAWS, err := filepath.Glob(filepath.Join(infra, "aws/cluster/*/rights.yaml"))
	must(w.t, err)
	files = append(append(files, filepath.Join(infra, "people/people.yaml"), filepath.Join(infra, "aws/cluster/rights.yaml")), onAWS...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(w.t, err)
		onePlatform := string(text)
		if strings.Contains(file, "/aws/") { // roles and bindings have the same names on both platforms
			onePlatform = strings.ReplaceAll(onePlatform, "\n  name: nodefence-", "\n  name: aws-nodefence-")
			onePlatform = strings.ReplaceAll(onePlatform, "\n    name: aws-nodefence-", "\n    name: nodefence-")
		}
		must(w.t, w.Apply(w.ctx, onePlatform))
	}
	w.grantAll(rights)
	must(w.t, w.Apply(w.ctx, outsiders))
	for _, r := range rights {
		resource, sub, _ := strings.Cut(r.Resource, "/")
		of := authorizationv1.ResourceAttributes{Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: sub, Name: r.Name}
		w.review("system:serviceaccount:nodefence-system:nodefence-"+r.Account, of)
		w.review("system:serviceaccount:nodefence-system:several", of)
	}
}

// grantAll gives account several the rights of all accounts of nodefence, each in its namespace or everywhere.
func (w *world) grantAll(rights []trusted.Right) {
	w.t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, r := range rights {
		rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: []string{r.Verb}}
		if r.Name != "" {
			rule.ResourceNames = []string{r.Name}
		}
		rules[r.Namespace] = append(rules[r.Namespace], rule)
	}
	meta, subjects := metav1.ObjectMeta{Name: "several"}, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "several", Namespace: "nodefence-system"}}
	for namespace, of := range rules {
		var err error
		if namespace == "" {
			_, err = w.Kube.RbacV1().ClusterRoles().Create(w.ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: of}, metav1.CreateOptions{})
			must(w.t, err)
			continue
		}
		_, err = w.Kube.RbacV1().Roles(namespace).Create(w.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: of}, metav1.CreateOptions{})
		must(w.t, err)
		_, err = w.Kube.RbacV1().RoleBindings(namespace).Create(w.ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "several"}}, metav1.CreateOptions{})
		must(w.t, err)
	}
}

// trustedObjects makes the objects that the rows write.
func (w *world) trustedObjects() {
	w.t.Helper()
	kinds, err := os.ReadFile("testdata/machinehealthcheck/v1beta2.yaml")
	must(w.t, err)
	must(w.t, w.Apply(w.ctx, string(kinds)))
	w.until("a Machine to be there", func() (bool, error) {
		return w.Apply(w.ctx, "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {name: m, namespace: default}, spec: {clusterName: c}}") == nil, nil
	})
	must(w.t, w.Apply(w.ctx, adoptedPolicy))
	must(w.t, w.Apply(w.ctx, "{apiVersion: nodefence.io/v1alpha1, kind: FenceBudget, metadata: {name: all}, spec: {selector: {}, maxUnavailable: 1}}"))
	must(w.t, w.Apply(w.ctx, "{apiVersion: nodefence.io/v1alpha1, kind: FenceTarget, metadata: {name: node-1}}"))
	must(w.t, w.Apply(w.ctx, `{apiVersion: nodefence.io/v1alpha1, kind: FenceAct, metadata: {name: act-x}, spec: {object: {kind: FenceLedger, name: cluster, uid: x, generation: 2}, field: Stop, to: "true", at: "2026-01-02T03:04:05.678901Z", unnamed: true}}`))
	must(w.t, w.Apply(w.ctx, forgedReport))
	_, err = w.createRequest("", "node-1", "", "", nil)
	must(w.t, err)
	_, err = w.Kube.CoordinationV1().Leases("medik8s-leases").Create(w.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, metav1.CreateOptions{})
	must(w.t, err)
	mark := `{"metadata":{"annotations":{"nodefence.io/out-of-service-by":"x"}},"spec":{"unschedulable":true,"taints":[{"key":"nodefence.io/isolated","value":"x","effect":"NoSchedule"},{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`
	_, err = w.Kube.CoreV1().Nodes().Patch(w.ctx, "node-2", types.StrategicMergePatchType, []byte(mark), metav1.PatchOptions{})
	must(w.t, err)
	now := metav1.NowMicro()
	ledger, err := w.Fences.Ledger(w.ctx)
	must(w.t, err)
	ledger.Status.Reservations = []api.Reservation{{NodeName: "node-1", FenceUID: "x", FenceNumber: 1, At: now}}
	ledger.Status.Storms = []api.Storm{{Policy: "default", Message: "x", Since: now}}
	ledger.Status.Restored = &api.Restored{SeenAt: now, From: "2", To: "1"}
	ledger, err = w.Fences.SaveLedger(w.ctx, ledger)
	must(w.t, err)
	ledger.Spec.RestoreConfirmed = &api.RestoreConfirmed{By: "lab-admin", SeenAt: ledger.Status.Restored.SeenAt}
	must(w.t, w.setLedger("", ledger))
	w.trustedFences()
}

// trustedFences makes a record in each phase, and those that say more.
func (w *world) trustedFences() {
	w.t.Helper()
	phases := map[string]api.Phase{"in-dumping": api.Releasing, "in-word": api.Fencing, "in-aborting": api.Pending, "in-cut": api.Releasing, "in-refuted": api.Recovering, "in-refuted-over": api.Finished}
	for _, p := range []api.Phase{api.Pending, api.Draining, api.Probing, api.Isolating, api.Fencing, api.Releasing, api.PoweringOn, api.Restoring, api.Recovering, api.Fenced, api.Failed, api.Finished} {
		phases["in-"+strings.ToLower(string(p))] = p
	}
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		f := w.record(name)
		made, err := w.Fences.CreateFence(w.ctx, f)
		must(w.t, err)
		made.Status = f.Status
		made.Status.Phase = phases[name]
		if name == "in-dumping" {
			made.Status.Decision.Settings.Kdump = &api.KdumpSettings{ReleasePodsWhileDumping: true}
		}
		if name == "in-cut" {
			made.Status.Power.CutAt = new(observed.StampOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		}
		if strings.HasPrefix(name, "in-refuted") {
			then := observed.StampOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			made.Status.Refuted = &api.Refutation{At: then, FenceNumber: 1, Device: "x", Level: 1, BootID: "x", ProvenAt: then}
			made.Status.ProvenCut = &api.ProvenCut{FenceNumber: 1, NodeUID: "1", Device: "x", Level: 1, BootID: "x", ProvenAt: then}
		}
		made, err = w.Fences.SaveFenceStatus(w.ctx, made)
		must(w.t, err)
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		switch name {
		case "in-word":
			made.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "lab-admin", At: at}}
		case "in-aborting":
			made.Spec.Requests.Abort = &api.AbortRequest{By: "lab-admin", At: at}
		default:
			continue
		}
		_, err = w.replace("", made)
		must(w.t, err)
	}
}
