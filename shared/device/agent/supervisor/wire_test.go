package supervisor

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAJobArrivesAsItWasSent(t *testing.T) {
	for name, want := range map[string]Job{
		"nothing":    {},
		"all of it":  {Path: "/usr/sbin/fence_x", Args: []string{"-o", "", "metadata"}, Input: []byte("a=1\n\xff\x00")},
		"no input":   {Path: "/x", Args: []string{"a"}},
		"long input": {Path: "/x", Input: bytes.Repeat([]byte("x"), 1<<20)},
	} {
		in := bytes.NewReader(append(want.Encode(), "what follows"...))
		got, err := ReadJob(in)
		if rest, _ := io.ReadAll(in); err != nil || string(rest) != "what follows" {
			t.Errorf("%s: %v, %q follows", name, err, rest)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		whole(t, name, want.Encode(), func(r io.Reader) error { _, err := ReadJob(r); return err })
	}
}

func TestAnOutcomeArrivesAsItWasSent(t *testing.T) {
	for name, want := range map[string]Outcome{
		"nothing":   {},
		"no agent":  {Err: "no such file"},
		"late":      {Code: -1, Late: true},
		"all of it": {Code: 2, Stdout: Text{[]byte("Status: OFF\n"), true}, Stderr: Text{[]byte{0xff, 0}, false}},
		"the other": {Stderr: Text{[]byte("x"), true}},
	} {
		got, err := ReadOutcome(bytes.NewReader(want.Encode()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		whole(t, name, want.Encode(), func(r io.Reader) error { _, err := ReadOutcome(r); return err })
	}
}

// whole checks that what ends early is not taken for all.
func whole(t *testing.T, name string, all []byte, read func(io.Reader) error) {
	t.Helper()
	for n := range min(len(all), 200) {
		if read(bytes.NewReader(all[:n])) == nil {
			t.Errorf("%s: the first %d of %d bytes count as all", name, n, len(all))
		}
	}
}

func TestALengthThatCannotBe(t *testing.T) {
	for _, length := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x01\x00\x00\x01"} {
		if _, err := ReadOutcome(bytes.NewReader([]byte(length))); !errors.Is(err, errTooLong) {
			t.Errorf("%q: %v", length, err)
		}
	}
}
