package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

const invitation = "http://127.0.0.1:8123/?token=SECRET&a=b"

// opening has the browser opened at the invitation, by a program that answers with this error.
func opening(t *testing.T, answer error) (args []string, said string, forget func()) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var errOut strings.Builder
	p := &program{IOStreams: genericiooptions.IOStreams{ErrOut: &errOut}, start: func(name string, more ...string) error {
		args = append([]string{name}, more...)
		return answer
	}}
	forget = p.openBrowser(invitation)
	return args, errOut.String(), forget
}

// TestTheTokenIsInNoCommandLine: every user of this machine sees command lines. The token is in a file
// that this user alone can read, until it is spent.
func TestTheTokenIsInNoCommandLine(t *testing.T) {
	args, said, forget := opening(t, nil)
	if len(args) < 2 || strings.Contains(strings.Join(args, " "), "SECRET") || said != "" {
		t.Fatalf("%q was run, and said: %s", args, said)
	}
	file := args[len(args)-1]
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `url=http://127.0.0.1:8123/?token=SECRET&amp;a=b"`) {
		t.Errorf("%s: %v: %s", file, err, text)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
		if i, err := os.Stat(path); err != nil || i.Mode() != want {
			t.Errorf("%s: %v, want %v: %v", path, i, want, err)
		}
	}
	forget()
	forget() // it may be both entered and ended
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}

// TestNoBrowser: where none can be opened, no file is left.
func TestNoBrowser(t *testing.T) {
	args, said, _ := opening(t, errors.New("no such program"))
	if !strings.Contains(said, "no browser could be opened: no such program") {
		t.Errorf("said: %s", said)
	}
	if _, err := os.Stat(args[len(args)-1]); !os.IsNotExist(err) {
		t.Errorf("the file is left: %v", err)
	}
}
