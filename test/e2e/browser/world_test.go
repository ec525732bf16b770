package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/rig"
)

var shots = flag.String("shots", "", "a folder for pictures of the pages")

// policy waits for a person before each fence.
const policy = `
mode: RequireApproval
power: {offTimeout: 1m, retryInterval: 1s}
recovery: {bootTimeout: 5m, readyDuration: 1s}
limits: {maxUnhealthy: "50%", maxConcurrent: 2, stormCoolDown: 1s}
`

// people are alice, who may look, and bob, who may act besides.
const people = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes-and-pods}
rules: [{apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes-and-pods}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lookers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: on-call}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-operate}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: on-call, namespace: nodefence-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-ask}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

// more lets carol, who has no right until then, look.
const more = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: carol}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodefence-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: carol-nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes-and-pods}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`

// world is a lab with nodefence, in which people have rights.
type world struct {
	*rig.Cluster
	t   *testing.T
	ctx context.Context
}

func newWorld(t *testing.T, nodes, zones int) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Timeout)
	t.Cleanup(cancel)
	c := rig.ForTest(ctx, t, rig.LabOptions{Name: fmt.Sprintf("browser-%d", os.Getpid()), Nodes: nodes, Flags: []string{"--zones", fmt.Sprint(zones)}})
	w := &world{Cluster: c, t: t, ctx: ctx}
	w.must(c.Furnish(ctx, policy))
	root, err := rig.Root()
	w.must(err)
	w.must(c.ApplyFile(ctx, filepath.Join(root, "infra/people/people.yaml")))
	w.must(c.Apply(ctx, people))
	log := &rig.Log{}
	p, err := c.Start(ctx, t.TempDir(), log, nil)
	w.must(err)
	t.Cleanup(p.Stop)
	t.Cleanup(func() { c.Tell(t, log) })
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/\?token=\S+`)

// serve runs kubectl fence ui as a person, with more flags, until the test ends, or end is called. It returns
// the address that is printed.
func (w *world) serve(as string, flags ...string) (prints string, end func()) {
	w.t.Helper()
	program, err := rig.Bin("kubectl-fence")
	w.must(err)
	cmd := exec.CommandContext(w.ctx, program, append([]string{"ui", "--kubeconfig", w.Lab.Kubeconfig, "--as", as}, flags...)...)
	out, err := cmd.StdoutPipe()
	w.must(err)
	cmd.Stderr = w.t.Output()
	w.must(cmd.Start())
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("kubectl fence ui did not end well on an interrupt: %v", err)
		}
	})
	w.t.Cleanup(end)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if prints = address.FindString(lines.Text()); prints != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return prints, end
		}
	}
	w.t.Fatal("kubectl fence ui printed no address")
	return "", end
}

// database runs pods, and returns the node of the first.
func (w *world) database() string {
	w.t.Helper()
	node, err := w.Database(w.ctx, 1)
	w.must(err)
	return node
}

// others are the names of the nodes but one.
func (w *world) others(but string) (out []string) {
	w.t.Helper()
	l, err := w.Kube.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	w.must(err)
	for _, n := range l.Items {
		if n.Name != but {
			out = append(out, n.Name)
		}
	}
	return out
}
