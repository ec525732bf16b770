package main

import (
	"context"
	"io"
	"testing"
)

func TestWhatIsWrongIsSaidAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		sink string
		want string
		env  map[string]string
	}{
		"no sink":                    {nil, "", "neither K_SINK nor NODEFENCE_BUS is set: K_SINK is the URL that events are posted to, such as a Broker's, NODEFENCE_BUS an EventBridge bus", nil},
		"a sink that is no URL":      {nil, "broker", `read K_SINK: "broker" is not an http or https URL`, nil},
		"a sink of another protocol": {nil, "nats://broker", `read K_SINK: "nats://broker" is not an http or https URL`, nil},
		"a sink and a bus": {nil, "http://broker", "both K_SINK and NODEFENCE_BUS are set: events go to one of them",
			map[string]string{"NODEFENCE_BUS": "nodefence"}},
		"a bus without a region": {nil, "", "use NODEFENCE_BUS: event bus nodefence: no region, set AWS_REGION",
			map[string]string{"NODEFENCE_BUS": "nodefence", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": "/nowhere"}},
		"a bus, and no cluster": {nil, "", "find the cluster (set KUBECONFIG): stat /nowhere: no such file or directory",
			map[string]string{"NODEFENCE_BUS": "nodefence", "AWS_REGION": "eu-central-1", "AWS_CONFIG_FILE": "/nowhere"}},
		"an interval below 0": {nil, "http://broker", `read NODEFENCE_CHECK_INTERVAL: "-5m": write a number and its unit, as in 90s, 10m or 1h30m, or 0 for never`,
			map[string]string{"NODEFENCE_CHECK_INTERVAL": "-5m"}},
		"an argument":                 {[]string{"go"}, "http://broker", `unexpected argument "go"; see --help`, nil},
		"help is no error":            {[]string{"--help"}, "", "", nil},
		"a flag that does not exist":  {[]string{"--sink=x"}, "", "flag provided but not defined: -sink", nil},
		"a cluster that is not there": {nil, "http://broker", "find the cluster (set KUBECONFIG): stat /nowhere: no such file or directory", nil},
		"overrides that are not JSON": {nil, "http://broker",
			`read K_CE_OVERRIDES: it is not {"extensions":{"name":"value"}}: unexpected end of JSON input`,
			map[string]string{"K_CE_OVERRIDES": `{"extensions":`}},
		"overrides of what routes": {nil, "http://broker", `read K_CE_OVERRIDES: extension "partitionkey": nodefence sets this one itself`,
			map[string]string{"K_CE_OVERRIDES": `{"extensions":{"partitionkey":"x"}}`}},
		"certificates that are none": {nil, "https://broker", "read K_CA_CERTS: it holds no certificate in PEM",
			map[string]string{"K_CA_CERTS": "none"}},
		"a password is not repeated": {nil, "ftp://me:secret@broker", `read K_SINK: "ftp://me:xxxxx@broker" is not an http or https URL`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("K_SINK", c.sink)
			t.Setenv("KUBECONFIG", "/nowhere")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			got := ""
			if err := start(context.Background(), c.args, io.Discard); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
