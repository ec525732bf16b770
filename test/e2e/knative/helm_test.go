package knative

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// TestHelmKeepsWhatPeopleWrote: Helm installs the chart, upgrades its kinds, and takes away what runs
// and nothing else: the kinds with their records stay, and the namespaces with their Secrets. It
// takes them up again at the next install.
func TestHelmKeepsWhatPeopleWrote(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline(t))
	t.Cleanup(cancel)
	c := newLab(ctx, t, 1)
	must(t, plane.Install(ctx, c))
	r := release(ctx, t, c)
	chart := r.file("nodefence-*.tgz")
	install := []string{"install", "nodefence", chart, "--namespace", system, "--create-namespace", "--set", "platform=deployments", "--set", "components.jobs.enabled=true"}
	r.helm(install...)
	must(t, rig.Until(ctx, "nodefence's kinds to be served", func() (bool, error) {
		_, err := c.Fences.Policies(ctx)
		return err == nil, nil
	}))
	r.kubectl(nil, "apply", "-f", r.file("nodefence-ledger.yaml"))
	must(t, c.Apply(ctx, rig.Policy("kept", "mode: DryRun")))
	must(t, c.Apply(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: bmc, namespace: nodefence-devices}\nstringData: {password: x}\n"))
	must(t, c.Apply(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: call, namespace: nodefence-jobs}\nstringData: {call: x}\n"))

	// A kind of an older release, without what newer ones have.
	r.kubectl(nil, "annotate", "crd", "fencebudgets.nodefence.io", "controller-gen.kubebuilder.io/version=old", "--overwrite")
	r.helm("upgrade", "nodefence", chart, "--namespace", system, "--set", "platform=deployments", "--set", "deviceCallSeconds=10", "--set", "peopleRoles=false")
	if got := r.kubectl(nil, "-n", system, "get", "deployment", "nodefence-power", "-o", "jsonpath={.spec.template.spec.containers[0].env[?(@.name=='NODEFENCE_DEVICE_CALL_TIMEOUT')].value}"); got != "10s" {
		t.Errorf("after the upgrade power's timeout is %q", got)
	}
	if _, err := c.Kube.RbacV1().ClusterRoles().Get(ctx, "nodefence-operate", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the roles for people are still there: %v", err)
	}

	// The upgrade has turned component jobs off.
	if _, err := c.Kube.RbacV1().Roles("nodefence-jobs").Get(ctx, "nodefence-power", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the rights of component jobs are still there: %v", err)
	}
	r.kept("nodefence-jobs", "call")

	r.helm("uninstall", "nodefence", "--namespace", system, "--wait")
	if left := deployments(ctx, t, c); len(left) != 0 {
		t.Errorf("%d Deployments are left", len(left))
	}
	if _, err := c.Fences.Policies(ctx); err != nil {
		t.Errorf("the kinds are gone: %v", err)
	}
	for _, kept := range []string{"fencepolicy/kept", "fenceledger/cluster", "namespace/nodefence-system", "namespace/nodefence-checks", "validatingadmissionpolicy/nodefence-decision"} {
		r.kubectl(nil, "get", kept)
	}
	r.kept("nodefence-devices", "bmc")
	r.kept("nodefence-jobs", "call")

	r.helm(install...)
	if d := cmp.Diff(10, len(deployments(ctx, t, c))); d != "" {
		t.Errorf("Deployments after the second install: %s", d)
	}
}

// released is a folder with what a release holds, and a cluster for it.
type released struct {
	*rig.Cluster
	t            *testing.T
	ctx          context.Context
	module, dist string
}

// release makes what a release holds.
func release(ctx context.Context, t *testing.T, c *rig.Cluster) *released {
	t.Helper()
	root, err := rig.Root()
	must(t, err)
	r := &released{Cluster: c, t: t, ctx: ctx, module: filepath.Join(root, "infra/release"), dist: t.TempDir()}
	r.run("go", "run", ".", "-version", "v0.0.1", "-registry", "registry.example.com/nodefence", "-out", r.dist)
	return r
}

func (r *released) helm(args ...string) []byte {
	r.t.Helper()
	return r.run("go", append([]string{"tool", "helm"}, args...)...)
}

// kubectl is the lab's.
func (r *released) kubectl(stdin []byte, args ...string) string {
	r.t.Helper()
	lab, err := rig.Bin("nodefence-lab")
	must(r.t, err)
	return string(r.feed(stdin, lab, append([]string{"kubectl"}, args...)...))
}

// kept looks that nobody has deleted a namespace, or a Secret in it.
func (r *released) kept(namespace, secret string) {
	r.t.Helper()
	if at := r.kubectl(nil, "get", "namespace", namespace, "-o", "jsonpath={.metadata.deletionTimestamp}"); at != "" {
		r.t.Errorf("namespace %s is deleted since %s", namespace, at)
	}
	r.kubectl(nil, "-n", namespace, "get", "secret", secret)
}

func (r *released) run(program string, args ...string) []byte {
	r.t.Helper()
	return r.feed(nil, program, args...)
}

// feed runs a command in the module, and returns what it prints.
func (r *released) feed(stdin []byte, program string, args ...string) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.ctx, program, args...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = r.module, bytes.NewReader(stdin), &errs
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Lab.Kubeconfig, "HELM_DRIVER=secret")
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, errs.Bytes())
	}
	return out
}

// file is the one file of the release with this name.
func (r *released) file(pattern string) string {
	r.t.Helper()
	all, err := filepath.Glob(filepath.Join(r.dist, pattern))
	must(r.t, err)
	if len(all) != 1 {
		r.t.Fatalf("%v are %s, want one", all, pattern)
	}
	return all[0]
}
