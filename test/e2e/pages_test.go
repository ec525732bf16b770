package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/pages"
	"github.com/nodefence/nodefence/test/rig"
)

// TestPages: an API server with the kinds of nodefence and of others takes each manifest of each page,
// each part of a policy and of an overlay, and runs each kubectl command, in a dry run. The events that
// a page sends are sent to nodefence.
func TestPages(t *testing.T) {
	w := &paged{world: newWorld(t, 1, quick)}
	w.furnish()
	blocks, err := pages.All(w.root)
	must(t, err)
	n := map[pages.Class]int{}
	for _, b := range blocks {
		c := b.Class()
		n[c]++
		var err error
		switch c {
		case pages.Manifest:
			err = errors.Join(w.dry(b.Text), triggers(b))
		case pages.PolicyPart:
			err = w.dry(policyOf(t, b))
		case pages.OverlayPart:
			err = w.overlay(b, "resources: [../deployments]\n"+b.Text, "")
		case pages.Overlay:
			err = w.overlay(b, b.Text, named)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", b.At(), err, b.Text)
		}
	}
	if n[pages.Manifest] < 20 || n[pages.PolicyPart] < 4 || n[pages.OverlayPart] < 6 || n[pages.Overlay] < 1 {
		t.Errorf("few blocks were found: %v", n)
	}
	shells := pages.Shells(blocks)
	asks := shells["functions/gate/REQUESTS.md"]
	delete(shells, "functions/gate/REQUESTS.md")
	for _, of := range shells {
		w.shell(of, "")
	}
	w.programs(shells, pages.Started(blocks))
	server := httptest.NewServer(w.start(nil).HTTP()) // only now: nodefence takes what the commands above are about for wrong
	defer server.Close()
	w.shell(asks, server.URL)
	w.enough()
}

// paged is a cluster that has what the pages are about.
type paged struct {
	*world
	root, infra, bin, said string
}

// furnish makes the objects that commands name, and the kinds of others.
func (w *paged) furnish() {
	var err error
	w.root, err = rig.Root()
	must(w.t, err)
	kinds := ofKnative(w.t, "config/core/resources/*.yaml")
	kinds = append(kinds, filepath.Join(w.root, "test/nhc/crd.yaml"), "testdata/machinehealthcheck/v1beta2.yaml", "testdata/far/crds.yaml", filepath.Join(w.root, "infra/crd/ledger/ledger.yaml"))
	for _, f := range kinds {
		must(w.t, w.ApplyFile(w.ctx, f))
	}
	for _, k := range []string{"eventtypes.eventing", "pingsources.sources"} { // their webhook does not run here
		must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+k+".knative.dev").
			Body([]byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)).Do(w.ctx).Error())
	}
	var missing error
	w.t.Cleanup(func() {
		if missing != nil {
			w.t.Log(missing)
		}
	})
	w.until("the objects to be there", func() (bool, error) { // the kinds above are served a little later
		missing = w.ApplyFile(w.ctx, "testdata/pages/fixture.yaml")
		return missing == nil, nil
	})
	must(w.t, w.Kube.CoreV1().RESTClient().Patch(types.MergePatchType).
		AbsPath("/apis/fence-agents-remediation.medik8s.io/v1alpha1/namespaces/openshift-workload-availability/fenceagentsremediationtemplates/metal/status").
		Body([]byte(`{"status":{"conditions":[{"type":"FenceAgentStatusValidationSucceeded","status":"True","reason":"ValidationSucceeded","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)).Do(w.ctx).Error())
	for _, f := range ofKnative(w.t, "config/brokers/mt-channel-broker/deployments/*.yaml", "config/channels/in-memory-channel/deployments/*.yaml") {
		must(w.t, w.ApplyFile(w.ctx, f))
	}
	f, err := w.Fences.Fence(w.ctx, "worker-7")
	must(w.t, err)
	at := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	f.Status.FenceNumber = 3
	f.Status.Refuted = &api.Refutation{At: at, FenceNumber: 3, Device: "ipmi 192.0.2.7", Level: 1, BootID: "3f1c", ProvenAt: at}
	_, err = w.Fences.SaveFenceStatus(w.ctx, f)
	must(w.t, err)
	l, err := w.Fences.Ledger(w.ctx)
	must(w.t, err)
	l.Status.Restored = &api.Restored{SeenAt: at, From: "1000", To: "600"}
	until := metav1.NewMicroTime(at.Add(time.Hour))
	l.Status.Storms = []api.Storm{{Policy: "workers", Since: at, CoolDownUntil: &until}}
	l.Status.Draining = []api.Reservation{{NodeName: "worker-7", FenceUID: f.UID, FenceNumber: 3, At: at}}
	_, err = w.Fences.SaveLedger(w.ctx, l)
	must(w.t, err)
	w.infra, w.bin = filepath.Join(w.t.TempDir(), "infra"), w.t.TempDir()
	w.said = filepath.Join(w.bin, "said")
	must(w.t, os.CopyFS(w.infra, os.DirFS(filepath.Join(w.root, "infra"))))
	for _, ours := range []string{"kubectl", "curl"} {
		must(w.t, os.Symlink(filepath.Join(w.root, "test/e2e/testdata/pages", ours), filepath.Join(w.bin, ours)))
	}
	for _, tool := range []string{"bash", "cat", "date", "jq"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			w.t.Skipf("%s is missing: apt-get install %s", tool, tool)
		}
		must(w.t, os.Symlink(path, filepath.Join(w.bin, tool)))
	}
}

// ofKnative are manifests of Knative Eventing's own, from its source.
func ofKnative(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "knative.dev/eventing").Output()
	must(t, err)
	for _, p := range patterns {
		these, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), p))
		must(t, err)
		files = append(files, these...)
	}
	return files
}

// run runs a shell's text at the root of the repository, with the programs that furnish has named.
func (w *paged) run(text string) error {
	lab, err := rig.Bin("nodefence-lab")
	must(w.t, err)
	curl, err := exec.LookPath("curl")
	if err != nil {
		w.t.Skip("curl is missing: apt-get install curl")
	}
	cmd := exec.CommandContext(w.ctx, "bash", "--norc", "--noprofile", "-euo", "pipefail")
	cmd.Dir, cmd.Stdin = w.root, strings.NewReader(text)
	cmd.Env = []string{"PATH=" + w.bin, "HOME=" + w.bin, "LAB_KUBECONFIG=" + w.Lab.Kubeconfig, "LAB=" + lab, "LAB_PATH=" + os.Getenv("PATH"), "LAB_HOME=" + os.Getenv("HOME"), "SAID=" + w.said, "CURL=" + curl}
	cmd.WaitDelay = 10 * time.Second // bash ends with ctx, but what it has started may hold the output open
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// dry applies objects without changing anything.
func (w *paged) dry(text string) error {
	return w.run("kubectl apply --server-side --validate=strict -f - <<'OBJECTS'\n" + text + "\nOBJECTS\n")
}

// policyOf is a policy that has this part.
func policyOf(t *testing.T, b pages.Block) string {
	t.Helper()
	var o map[string]any
	must(t, yaml.Unmarshal([]byte(b.Text), &o))
	spec, whole := o["spec"].(map[string]any)
	if !whole {
		spec = o
	}
	for field, usual := range map[string]any{"selector": map[string]any{}, "mode": "DryRun"} {
		if spec[field] == nil {
			spec[field] = usual
		}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "nodefence.io/v1alpha1", "kind": "FencePolicy", "metadata": map[string]any{"name": "of-a-page"}, "spec": spec})
	must(t, err)
	return string(text)
}

// triggers are held to what Knative's webhook, which does not run here, asks of them.
func triggers(b pages.Block) error {
	for _, doc := range b.Docs() {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil || kind.Kind != "Trigger" {
			continue // the API server has told what is no YAML
		}
		var trigger eventingv1.Trigger
		if err := yaml.UnmarshalStrict([]byte(doc), &trigger); err != nil {
			return err
		}
		ctx := context.Background()
		trigger.SetDefaults(ctx)
		if err := trigger.Validate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// named has bash fail if an image of what is built has no name: whoever names the functions' image
// names it for the activity checks too.
const named = `
[[ $(kubectl kustomize .) != *:name-yours* ]] || { echo 'an image has no name' >&2; exit 1; }
`

// overlay builds an overlay beside those of infra/knative, runs a check in its folder, and applies it.
func (w *paged) overlay(b pages.Block, text, check string) error {
	at := filepath.Join(w.infra, "knative/overlays", strings.NewReplacer("/", "-", ":", "-").Replace(b.At()))
	must(w.t, os.Mkdir(at, 0o700))
	must(w.t, os.WriteFile(filepath.Join(at, "kustomization.yaml"), []byte(text), 0o600))
	return w.run("cd " + at + check + "\nkubectl apply --server-side --validate=strict -k .\n")
}

// others has bash take each program that is not there for one that is done: test/pages holds them.
const others = `
command_not_found_handle() { case $1 in uuidgen) cat /proc/sys/kernel/random/uuid ;; esac; }
`

// shell runs the blocks of one page, one after another.
func (w *paged) shell(blocks []pages.Block, broker string) {
	w.t.Helper()
	var script strings.Builder
	script.WriteString(others)
	for _, b := range blocks {
		if b.Lang == "bash" {
			continue // TestTheTrial
		}
		text := strings.NewReplacer("bin/nodefence", "nodefence", "bin/kubectl-fence", "kubectl-fence", "http://127.0.0.1:8080", broker, "curl ", "curl -fsS ", " NAME ", " worker-7-x ").Replace(b.Text)
		fmt.Fprintf(&script, "trap 'echo \"%s fails\"' ERR\n%s\n", b.At(), text)
	}
	if err := w.run(script.String()); err != nil {
		w.t.Errorf("%s: %v", blocks[0].Page, err)
	}
}

// programs checks that each program of nodefence's has the flags that it is given.
func (w *paged) programs(shells map[string][]pages.Block, all []pages.Command) {
	w.t.Helper()
	n := 0
	for _, of := range shells {
		commands, err := pages.Commands(w.ctx, of)
		must(w.t, err)
		all = append(all, commands...)
	}
	for _, c := range all {
		if !strings.HasPrefix(c.Args[0], "nodefence-") {
			continue
		}
		n++
		if err := w.program(c); err != nil {
			w.t.Errorf("%s: %s: %v", c.Block.At(), c, err)
		}
	}
	if n < 12 {
		w.t.Errorf("only %d programs were found", n)
	}
}

func (w *paged) program(c pages.Command) error {
	bin, err := rig.Bin(c.Args[0])
	if err != nil || len(c.Args) == 1 {
		return err
	}
	help := []string{"--help"}
	if !strings.HasPrefix(c.Args[1], "-") {
		help = []string{c.Args[1], "--help"}
	}
	said, err := exec.CommandContext(w.ctx, bin, help...).CombinedOutput()
	words := strings.FieldsFunc(string(said), func(r rune) bool { return strings.ContainsRune(" \t\n,=", r) })
	for _, a := range c.Args[1:] {
		flag, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "-") && !slices.Contains(words, "-"+flag) && !slices.Contains(words, "--"+flag) {
			return cmp.Or(err, fmt.Errorf("%s says nothing of the flag %s: %s", strings.Join(append(c.Args[:1:1], help...), " "), a, said))
		}
	}
	return nil
}

// enough checks that the commands were run, and not passed over.
func (w *paged) enough() {
	w.t.Helper()
	said, err := os.ReadFile(w.said)
	must(w.t, err)
	verbs := strings.Fields(string(said))
	for verb, least := range map[string]int{"apply": 50, "patch": 8, "get": 10, "delete": 8, "create": 3, "wait": 5, "annotate": 3, "label": 2, "auth": 3} {
		n := 0
		for _, v := range verbs {
			if v == verb {
				n++
			}
		}
		if n < least {
			w.t.Errorf("kubectl %s was run %d times, want %d: the commands are not found any more", verb, n, least)
		}
	}
}
