package labdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/test/lab/process"
)

func TestCheckName(t *testing.T) {
	for name, good := range map[string]bool{
		"default":               true,
		"a":                     true,
		"a-1":                   true,
		strings.Repeat("a", 32): true,
		"":                      false,
		"A":                     false,
		"-a":                    false,
		"a-":                    false,
		"a/b":                   false,
		"..":                    false,
		".lock":                 false,
		"a\n":                   false,
		strings.Repeat("a", 33): false,
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckName(name); (err == nil) != good {
				t.Errorf("good: %v, error: %v", good, err)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	dead := process.ID{PID: 1, StartTicks: 1, BootID: "gone"}
	alive, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		before *Record
		want   error
	}{
		"a new name":                       {},
		"one that is being started":        {before: &Record{Starter: alive}, want: ErrRunning},
		"one that runs":                    {before: &Record{Ready: true, Processes: []Process{{ID: alive}}}, want: ErrRunning},
		"one with a part left":             {before: &Record{Starter: dead, Processes: []Process{{ID: dead}, {ID: alive}}}, want: ErrRunning},
		"one that died":                    {before: &Record{Ready: true, Starter: alive, Processes: []Process{{ID: dead}}}},
		"one whose start died":             {before: &Record{Starter: dead}},
		"one that died before it recorded": {before: &Record{Name: "unrecorded"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
			leave(t, tc.before)
			dir, _, err := Claim(t.Context(), "lab", func(Dir) error { return nil })
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if free := CheckFree("lab"); err == nil && !errors.Is(free, ErrRunning) {
				t.Errorf("claimed, but free for others: %v", free)
			}
			if _, old := os.Stat(dir.File("left")); err == nil && old == nil {
				t.Error("what the dead lab left is still there")
			}
		})
	}
}

// leave makes the folder of an earlier lab.
func leave(t *testing.T, record *Record) {
	t.Helper()
	if record == nil {
		return
	}
	dir, err := open("lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.File("left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if record.Name == "unrecorded" {
		return
	}
	if err := dir.Save(*record); err != nil {
		t.Fatal(err)
	}
}

func TestRootRefusesAFolderThatOthersMayUse(t *testing.T) {
	for name, prepare := range map[string]func(path string) error{
		"open to all": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o755))
		},
		"a link":    func(path string) error { return os.Symlink(filepath.Dir(path), path) },
		"no folder": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
			root, err := Root()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Remove(root), prepare(root)); err != nil {
				t.Fatal(err)
			}
			if _, err := Root(); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestPathsTooLongForSocketsAreRefused(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", long)
	if _, _, err := Claim(t.Context(), "lab", func(Dir) error { return nil }); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("error: %v", err)
	}
}
