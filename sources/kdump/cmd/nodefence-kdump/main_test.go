package main

import (
	"io"
	"testing"
)

func TestWhatIsWrongIsSaidAtStart(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		sink string
		want string
	}{
		"an argument":                 {[]string{"go"}, "", `unexpected argument "go"; see --help`},
		"help is no error":            {[]string{"--help"}, "", ""},
		"a sink that is no URL":       {nil, "broker", `read K_SINK: "broker" is not an http or https URL`},
		"a cluster that is not there": {nil, "", "find the cluster (set KUBECONFIG): stat /nowhere: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("K_SINK", c.sink)
			t.Setenv("KUBECONFIG", "/nowhere")
			got := ""
			if err := start(t.Context(), c.args, io.Discard); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
