package main

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kelseyhightower/envconfig"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run"
)

// lambdaEnv is what makes a function start on Lambda. The CA is any certificate.
var lambdaEnv = map[string]string{
	"NODEFENCE_BUS": "nodefence", "NODEFENCE_FUNCTION": "power", "NODEFENCE_CLUSTER": "prod",
	"NODEFENCE_EKS_CLUSTER": "prod", "NODEFENCE_EKS_ENDPOINT": "https://prod.example.com", "NODEFENCE_EKS_CA": ca,
	"AWS_REGION": "eu-central-1", "AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere", "KUBECONFIG": "",
	"AWS_DEFAULT_REGION": "", "K_SINK": "",
}

func TestWhatIsWrongOnLambdaIsSaidAtStart(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"nothing":                  {"NODEFENCE_BUS", "nodefence", ""},
		"no bus":                   {"NODEFENCE_BUS", "", "NODEFENCE_BUS is not set: it is the EventBridge bus that replies go to"},
		"no region":                {"AWS_REGION", "", "event bus nodefence: no region, set AWS_REGION"},
		"no cluster":               {"NODEFENCE_EKS_CLUSTER", "", "no cluster: set NODEFENCE_EKS_CLUSTER, NODEFENCE_EKS_ENDPOINT and NODEFENCE_EKS_CA, or KUBECONFIG"},
		"no cluster endpoint":      {"NODEFENCE_EKS_ENDPOINT", "", "find the cluster: NODEFENCE_EKS_ENDPOINT= is not the https URL of the API server of prod"},
		"no CA":                    {"NODEFENCE_EKS_CA", "", "find the cluster: NODEFENCE_EKS_CA is not the certificate authority of prod, PEM in base64 as EKS gives it"},
		"a CA that is none":        {"NODEFENCE_EKS_CA", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==", "connect to the API server: unable to load root certificates: unable to parse bytes as PEM block"},
		"two clusters":             {"KUBECONFIG", "/nowhere", "find the cluster: both NODEFENCE_EKS_CLUSTER and KUBECONFIG are set: name one cluster"},
		"no such function":         {"NODEFENCE_FUNCTION", "powr", "NODEFENCE_FUNCTION=powr: no such function, there are adopt, cleanup, deadletter, gate, isolate, policystatus, power, recover, request, resync"},
		"metrics of no known form": {"NODEFENCE_METRICS", "statsd", "NODEFENCE_METRICS=statsd: there is only emf, log lines in CloudWatch's embedded metric format"},
		"metrics in log lines":     {"NODEFENCE_METRICS", "emf", ""},
		"resync can send":          {"NODEFENCE_FUNCTION", "resync", ""},
		"direct to nobody":         {"NODEFENCE_DIRECT", "nodefence", `read NODEFENCE_DIRECT: "nodefence" does not hold {function}, which stands for the function's name`},
		"direct to functions":      {"NODEFENCE_DIRECT", "nodefence-{function}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range lambdaEnv {
				t.Setenv(k, v)
			}
			t.Setenv(c.key, c.value)
			var s settings
			if err := run.Environment(&s); err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, err := newLambda(context.Background(), s); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnAPIServerThatSwallowsPacketsIsTold, before Lambda ends the process without a
// word.
func TestAnAPIServerThatSwallowsPacketsIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	host := "https://" + l.Addr().String()
	_, err = connect(t.Context(), 50*time.Millisecond, settings{}, &rest.Config{Host: host}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	want := "the API server at " + host + " did not answer within 50ms: let this function reach it (SubnetIds and SecurityGroupIds, or the endpoint's public access), or set NODEFENCE_CLUSTER: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if connectTimeout >= 10*time.Second {
		t.Errorf("Lambda gives a start 10 s, not %s", connectTimeout)
	}
}

// TestUsageNamesEachFunction that this build has.
func TestUsageNamesEachFunction(t *testing.T) {
	p, err := functions.NewParts(t.Context(), functions.Settings{Cluster: "c"}, &rest.Config{}, slog.Default(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(functions.Handlers(p)))
	if !slices.Contains(names, "resync") { // it is there only where it can send
		names = append(names, "resync")
	}
	last := len(names) - 1
	if want := strings.Join(names[:last], ", ") + " or " + names[last] + " (all) "; !strings.Contains(strings.Join(strings.Fields(usage), " "), want) {
		t.Errorf("the usage doesn't say %q", want)
	}
}

// TestUsageNamesEachVariable that this program reads.
func TestUsageNamesEachVariable(t *testing.T) {
	var names strings.Builder
	if err := envconfig.Usagef("", &settings{}, &names, "{{range .}}{{.Alt}} {{end}}"); err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(names.String())
	if len(all) < 30 {
		t.Fatalf("only %v were found", all)
	}
	for _, name := range all {
		ofTraces := strings.HasPrefix(name, "OTEL_") && name != "OTEL_EXPORTER_OTLP_ENDPOINT" // the usage names the page that has them
		if !ofTraces && !regexp.MustCompile(`\b`+name+`\b`).MatchString(usage) {
			t.Errorf("the usage doesn't say what %s is", name)
		}
	}
}

// ca is a self-signed certificate as EKS gives it: PEM in base64.
const ca = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkVENDQVJ1Z0F3SUJBZ0lVVDJiMUViU0NQZWo3UUpVV2l5SjBJQmhGUFlrd0NnWUlLb1pJemowRUF3SXcKRHpFTk1Bc0dBMVVFQXd3RWRHVnpkREFnRncweU5qRXhNakV3TnpNM01qQmFHQTh5TVRJMk1UQXlPREEzTXpjeQpNRm93RHpFTk1Bc0dBMVVFQXd3RWRHVnpkREJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCT0l4CmtrYnQxdlNUNDRFc3hGR0RraUxjVjQ0QU9FY2ZINk9PQjVhRmlFSUtSUjlORmlFUjlqT1I5SU56WHkzWk10c2wKTTBwbzJnaGxVcFgyUXpGZ1ovMmpVekJSTUIwR0ExVWREZ1FXQkJTZmtQOHM3VS81WlBNbGhZWS9ocXo2aHlCTApiakFmQmdOVkhTTUVHREFXZ0JTZmtQOHM3VS81WlBNbGhZWS9ocXo2aHlCTGJqQVBCZ05WSFJNQkFmOEVCVEFECkFRSC9NQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJUUR6R21lVVhhaW5LQTZPK3k1UGF4MjNpNWFpNU5sYVFENDgKVDBETys2QUhSd0lnVStPaEpkeGg3UEdQR3RWdE1UNGlqYWdCS0swR0REMHhUWllnOW85SE5rWT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

// TestAnArgumentThatStartsNothing is not taken for work that is done.
func TestAnArgumentThatStartsNothing(t *testing.T) {
	for arg, c := range map[string]struct {
		code           int
		out, complaint string
	}{
		"--help":  {0, usage, ""},
		"serve":   {2, "", "nodefence: unexpected argument \"serve\"; see --help\n"},
		"--port=": {2, "", "nodefence: unexpected argument \"--port=\"; see --help\n"},
	} {
		var out, problems strings.Builder
		if code := other(arg, &out, &problems); code != c.code || out.String() != c.out || problems.String() != c.complaint {
			t.Errorf("%s: %d, %q, %q", arg, code, out.String(), problems.String())
		}
	}
}
