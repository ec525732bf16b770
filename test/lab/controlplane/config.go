package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Config is written by the command that starts the lab (package bringup of
// module test/lab has the same fields).
type Config struct {
	Etcd Etcd `json:"etcd"`

	// ListenerFD is an inherited, listening socket for the API server. The
	// starter picks a free port and keeps it open until we have it, so that
	// no other lab can take it in between. 0 means: listen as the flags say.
	ListenerFD uintptr `json:"listenerFD,omitempty"`

	// Kubeconfig is one that may read the API server's /readyz.
	Kubeconfig string `json:"kubeconfig"`

	// The flags of each part, as upstream documents them.
	APIServer         []string `json:"apiServer"`
	ControllerManager []string `json:"controllerManager"`
	Scheduler         []string `json:"scheduler"`
}

// Etcd is reached over a unix socket in a private folder: it needs no port and
// no certificates, and no other user can read the Secrets in it.
type Etcd struct {
	DataDir      string `json:"dataDir"`
	ClientSocket string `json:"clientSocket"`
	PeerSocket   string `json:"peerSocket"`
	Fsync        bool   `json:"fsync"`
}

func readConfig(path string) (Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var cfg Config
	if err := decoder.Decode(&cfg); err != nil {
		return Config{}, fmt.Errorf("parse configuration %s: %w", path, err)
	}
	return cfg, nil
}
