package aws

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/functions/gate/checks"
)

// unset are the settings of the functions' program that the template sets nowhere, and why.
var unset = map[string]string{
	"NODE_NAME": "on Lambda it is none", "KUBECONFIG": "the cluster is NODEFENCE_EKS_CLUSTER", "PORT": "Lambda calls no port",
	"K_SINK": "replies go to NODEFENCE_BUS", "K_CE_OVERRIDES": "of K_SINK", "K_CA_CERTS": "of K_SINK", "NODEFENCE_TOKEN_FILE": "of K_SINK",
	"NODEFENCE_NAMESPACE": "cluster/rights.yaml is for the usual one", "NODEFENCE_SECRETS_NAMESPACE": "cluster/rights.yaml is for the usual one",
	"NODEFENCE_CHECKS_NAMESPACE": "cluster/rights.yaml is for the usual one", "NODEFENCE_JOBS_NAMESPACE": "cluster/jobs is for the usual one",
	"NODEFENCE_KUBELET_PORT": "kubelets of EKS listen where their Nodes say", "NODEFENCE_AGENTS_DIR": "a function has no agents",
	"NODEFENCE_MACHINES_KUBECONFIG": "is a file with a token", "NODEFENCE_MACHINES_CLUSTER": "of NODEFENCE_MACHINES_KUBECONFIG",
	"NODEFENCE_CHECK_DENIED_INTERVAL": "EC2 locks no account", "GCE_METADATA_HOST": "of another cloud",
	"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "the endpoint for all is set", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "the headers for all are set",
	"OTEL_EXPORTER_OTLP_CERTIFICATE": "is a file", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "is a file",
	"OTEL_EXPORTER_OTLP_PROTOCOL": "there is only one", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "there is only one",
	"OTEL_TRACES_SAMPLER": "all fences are kept", "OTEL_TRACES_SAMPLER_ARG": "of OTEL_TRACES_SAMPLER", "OTEL_SDK_DISABLED": "without an endpoint there are no traces",
}

// TestEverySettingCanBeSet: the template sets each setting of the functions' program, or there is a
// reason why nobody on AWS needs it.
func TestEverySettingCanBeSet(t *testing.T) {
	is := set(t)
	read := settingsIn(t, "../../functions", "../../shared")
	if len(read) < 40 {
		t.Errorf("only %d settings were found", len(read))
	}
	for name := range read {
		switch why := unset[name]; {
		case is[name] && why != "":
			t.Errorf("the template sets %s, which is said to be needless: %s", name, why)
		case !is[name] && why == "":
			t.Errorf("the template does not set %s: add a parameter for it, or a reason here", name)
		}
	}
	for name := range is {
		if !read[name] {
			t.Errorf("the template sets %s, which no function reads", name)
		}
	}
}

var (
	setting = regexp.MustCompile(`\b(?:NODEFENCE|OTEL)_[A-Z0-9_]*[A-Z0-9]\b`)
	here    = regexp.MustCompile(`\b(AWS|Lambda)\b`)
	tag     = regexp.MustCompile("envconfig:\"([A-Z0-9_]+)\"")
)

// TestPagesNameWhatCanBeSet: where a page speaks of AWS it names no setting that the stack does not
// have. What does not work on AWS is listed in README.md alone.
func TestPagesNameWhatCanBeSet(t *testing.T) {
	is := set(t)
	maps.Copy(is, settingsIn(t, "../../sources/apiserver/cmd")) // by the source's ConfigMap
	n := 0
	walkFiles(t, ".md", func(path, text string) {
		for _, words := range passages(text) {
			ours := strings.HasPrefix(path, "infra/aws/")
			if !ours && !here.MatchString(words) || ours && strings.Contains(words, "the component `managementcluster`") {
				continue
			}
			for _, name := range setting.FindAllString(words, -1) {
				n++
				if !is[name] {
					t.Errorf("%s speaks of AWS and of %s, which the stack can't set:\n%s", path, name, words)
				}
			}
		}
	}, "../..")
	if n < 10 {
		t.Errorf("only %d settings were found", n)
	}
}

// passages are the paragraphs of a page, the items of its lists and the rows of its tables.
func passages(text string) (all []string) {
	open := false
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "":
			open = false
		case open && !begins.MatchString(line):
			all[len(all)-1] += line
		default:
			all, open = append(all, line), true
		}
	}
	return all
}

// begins is how an item of a list, and a row of a table, begin.
var begins = regexp.MustCompile(`^\s*([-*|]|\d+\.) ?`)

// TestSettingsReachTheirFunctions, and no other.
func TestSettingsReachTheirFunctions(t *testing.T) {
	given := map[string]string{
		"RemediationLeases": "medik8s-leases", "JobImages": "registry.example.com/agents:v1,registry.example.com/pdu:v2", "NodeNetworks": "10.0.0.0/16,2001:db8::/56",
		"NeighborsImage": "registry.example.com/nodefence:v1", "TracesEndpoint": "https://otel.example.com:4318", "TracesHeaders": "api-key=a%20b",
	}
	s, err := stack(t).With(given)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"NODEFENCE_REMEDIATION_LEASES": {"Gate": given["RemediationLeases"], "Recover": given["RemediationLeases"], "Resync": given["RemediationLeases"]},
		"NODEFENCE_JOB_IMAGES":         {"Gate": given["JobImages"], "Power": given["JobImages"]},
		"NODEFENCE_NODE_NETWORKS":      {"Gate": given["NodeNetworks"]},
		"NODEFENCE_NEIGHBORS_IMAGE":    {"Gate": given["NeighborsImage"]},
	}
	got := map[string]map[string]string{}
	for name := range want {
		got[name] = map[string]string{}
		for id, r := range s.Resources {
			if value, is := at[map[string]any](t, r, "Environment", "Variables")[name].(string); is {
				got[name][id] = value
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	all := s.Globals.Function["Environment"].(map[string]any)["Variables"].(map[string]any)
	if d := cmp.Diff([]any{given["TracesEndpoint"], given["TracesHeaders"]}, []any{all["OTEL_EXPORTER_OTLP_ENDPOINT"], all["OTEL_EXPORTER_OTLP_HEADERS"]}); d != "" {
		t.Error(d)
	}
}

// TestNetworksAreOnesThatTheGateReads: with others it would not start.
func TestNetworksAreOnesThatTheGateReads(t *testing.T) {
	for _, networks := range []string{
		"10.0.0.0/16", "0.0.0.0/0", "192.168.255.1/32,172.16.0.0/12", "2001:db8::/56", "::/0", "fd00:ec2::254/128",
		"10.0.0.0/33", "10.0.0/8", "256.0.0.0/8", "010.0.0.0/8", "10.0.0.0/08", "10.0.0.7", "vpc-1", "10.0.0.0/16, 10.1.0.0/16", "2001:db8::/129", "2001:db8::/064",
	} {
		_, err := stack(t).With(map[string]string{"NodeNetworks": networks})
		if reads := new(checks.Networks).Decode(networks); (err == nil) != (reads == nil) && !strings.Contains(networks, " ") {
			t.Errorf("%q: the template says %v, and the gate %v", networks, err, reads)
		}
	}
}

// set are the variables that the template sets, of whichever function.
func set(t *testing.T) map[string]bool {
	t.Helper()
	s, all := stack(t), map[string]bool{}
	for name := range s.Globals.Function["Environment"].(map[string]any)["Variables"].(map[string]any) {
		all[name] = true
	}
	for _, r := range s.Resources {
		for name := range at[map[string]any](t, r, "Environment", "Variables") {
			all[name] = true
		}
	}
	return all
}

// settingsIn are the variables that the programs in these folders read.
func settingsIn(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	walkFiles(t, ".go", func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range tag.FindAllStringSubmatch(text, -1) {
			all[m[1]] = true
		}
	}, folders...)
	return all
}

// walkFiles goes through the files of one kind, which it names by their path in the repository.
func walkFiles(t *testing.T, ext string, do func(path, text string), folders ...string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ext {
				return err
			}
			text, err := os.ReadFile(path)
			do(strings.TrimPrefix(filepath.ToSlash(path), "../../"), string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
