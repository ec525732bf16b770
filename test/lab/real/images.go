package real

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// The images that each machine has. Both are of the same program (test/lab/agent).
const (
	// PauseImage holds a pod's namespaces.
	PauseImage = "registry.lab/pause:1"
	// AgentImage has a writer: "write FILE".
	AgentImage = "registry.lab/agent:1"
)

// image is an image with one program and nothing else.
type image struct {
	names []string
	// program is the file on this machine; the image has it as /agent.
	program    string
	entrypoint []string
}

// write makes an archive that "ctr images import" and "docker load" read.
func (i image) write(path string) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": time.Unix(0, 0).UTC(),
		"config": map[string]any{"Entrypoint": i.entrypoint},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digestOf(layer)}},
	})
	if err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	configName := digestOf(config) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": i.names, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		content []byte
	}{{configName, config}, {"layer.tar", layer}, {"manifest.json", manifest}} {
		if err := addFile(archive, f.name, 0o644, f.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	return nil
}

func (i image) layer() ([]byte, error) {
	program, err := os.ReadFile(i.program)
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	var out bytes.Buffer
	layer := tar.NewWriter(&out)
	if err := addFile(layer, "agent", 0o755, program); err != nil {
		return nil, err
	}
	if err := layer.Close(); err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	return out.Bytes(), nil
}

func addFile(to *tar.Writer, name string, mode int64, content []byte) error {
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	if _, err := io.Copy(to, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	return nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
