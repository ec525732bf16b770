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
	}{
		"no sink":                     {nil, "", "K_SINK is not set: it is the URL that events are posted to, such as a Broker's"},
		"a sink that is no URL":       {nil, "broker", `read K_SINK: sink "broker" is not an http or https URL`},
		"a sink of another protocol":  {nil, "nats://broker", `read K_SINK: sink "nats://broker" is not an http or https URL`},
		"an argument":                 {[]string{"go"}, "http://broker", `unexpected argument "go"; see --help`},
		"help is no error":            {[]string{"--help"}, "", ""},
		"a flag that does not exist":  {[]string{"--sink=x"}, "", "flag provided but not defined: -sink"},
		"a cluster that is not there": {nil, "http://broker", "find the cluster (set KUBECONFIG): stat /nowhere: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("K_SINK", c.sink)
			t.Setenv("KUBECONFIG", "/nowhere")
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
