package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnArchiveIsUnpacked: the files of an archive are read, and written into a folder, as the archive was packed.
func TestAnArchiveIsUnpacked(t *testing.T) {
	files := Files{"index.json": []byte("{}"), "blobs/sha256/a": []byte("a")}
	packed, err := Tar(files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(packed)
	if d := cmp.Diff(files, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	folder := filepath.Join(t.TempDir(), "new")
	if err := Untar(packed, folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != string(want) {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

// TestUntarStaysInTheFolder: a path that leads out of the folder is an error, and nothing is written there.
func TestUntarStaysInTheFolder(t *testing.T) {
	above := t.TempDir()
	packed, err := Tar(Files{"../outside": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := Untar(packed, filepath.Join(above, "folder")); err == nil {
		t.Error("the path ../outside was accepted")
	}
	if _, err := os.Stat(filepath.Join(above, "outside")); !os.IsNotExist(err) {
		t.Errorf("a file was written outside of the folder: %v", err)
	}
}
