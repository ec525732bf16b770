package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	rest := " 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1"
	tests := map[string]struct {
		raw     string
		want    stat
		wantErr bool
	}{
		"a plain name":                          {raw: "7 (kube) S" + rest, want: stat{'S', 4711}},
		"a name that looks like the end of one": {raw: "7 (a) Z 1) R" + rest, want: stat{'R', 4711}},
		"a zombie":                              {raw: "7 (kube) Z" + rest, want: stat{'Z', 4711}},
		"cut off":                               {raw: "7 (kube) S 1 1", wantErr: true},
		"empty":                                 {raw: "", wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tc.raw))
			if (err != nil) != tc.wantErr {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(stat{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAliveMeansThisProcessAndNoOther(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	later, otherBoot := id, id
	later.StartTicks++
	otherBoot.BootID = "another"
	for name, tc := range map[string]struct {
		id   ID
		want bool
	}{
		"itself":                        {id, true},
		"the PID began at another time": {later, false},
		"the PID is of another boot":    {otherBoot, false},
		"nothing recorded":              {ID{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.id.Alive(); got != tc.want {
				t.Errorf("alive: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	for name, script := range map[string]string{
		"a process that obeys":               "echo ready; exec sleep 600",
		"a process that does not want to go": "trap '' TERM; echo ready; exec sleep 600",
		"a process that has ended already":   "echo ready",
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			started, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", script}, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			waitForLog(t, log, "ready")
			if err := started.ID.End(t.Context(), 200*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if started.ID.Alive() {
				t.Error("alive after its end")
			}
			<-started.Ended
		})
	}
}

func TestEndLeavesAnotherProcessAlone(t *testing.T) {
	started, err := Start(Spec{Path: "/bin/sleep", Args: []string{"600"}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.ID.End(context.Background(), time.Second) })
	reused := started.ID
	reused.StartTicks--
	if err := reused.End(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if !started.ID.Alive() {
		t.Error("ended a process that only has the same PID")
	}
}

func waitForLog(t *testing.T, path, want string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if raw, _ := os.ReadFile(path); strings.Contains(string(raw), want) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%q never came", want)
		}
	}
}
