package real

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readArchive returns the files of a tar archive.
func readArchive(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageHasItsNameAndItsProgram(t *testing.T) {
	program, out := filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(program, []byte("the program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (image{[]string{AgentImage}, program, []string{"/agent", "pause"}}).write(out); err != nil {
		t.Fatal(err)
	}
	raw, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	files := readArchive(t, raw)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("%d images: %v", len(manifest), err)
	}
	if diff := cmp.Diff([]string{AgentImage}, manifest[0].RepoTags); diff != "" {
		t.Error(diff)
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	layer := files[manifest[0].Layers[0]]
	if diff := cmp.Diff([]string{"sha256:" + digestOf(layer)}, config.RootFS.DiffIDs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/agent", "pause"}, config.Config.Entrypoint); diff != "" {
		t.Error(diff)
	}
}
