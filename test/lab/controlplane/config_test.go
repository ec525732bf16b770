package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadConfigRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, tc := range map[string]struct{ content, wantErr string }{
		"what the lab writes": {content: `{"etcd":{"dataDir":"d","fsync":true},"listenerFD":3,"kubeconfig":"k","apiServer":["--v=1"]}`},
		"a field too many":    {content: `{"etdc":{}}`, wantErr: "etdc"},
		"no JSON":             {content: `etcd: {}`, wantErr: "parse configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := readConfig(path)
			if (err != nil) != (tc.wantErr != "") || (err != nil && !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("error: %v", err)
			}
		})
	}
}
