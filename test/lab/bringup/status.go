package bringup

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// The states of a lab.
const (
	StateUp       = "up"
	StateStarting = "starting"
	// StateBroken means that a part is dead or doesn't answer.
	StateBroken = "broken"
	// StateDead means that nothing runs; only the folder is left.
	StateDead = "dead"
)

// Status is the report about a lab.
type Status struct {
	Name       string           `json:"name"`
	State      string           `json:"state"`
	Problems   []string         `json:"problems,omitempty"`
	Created    time.Time        `json:"created"`
	Server     string           `json:"server,omitempty"`
	Kubeconfig string           `json:"kubeconfig,omitempty"`
	Processes  []ProcessStatus  `json:"processes,omitempty"`
	Nodes      []simclient.Node `json:"nodes,omitempty"`
}

// ProcessStatus is one process of a lab.
type ProcessStatus struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Alive bool   `json:"alive"`
	Log   string `json:"log"`
}

// GetStatus looks at a lab, and asks its parts if they still answer.
func GetStatus(ctx context.Context, name string) (Status, error) {
	dir, record, err := labdir.Open(name)
	if err != nil {
		return Status{}, err
	}
	status := summary(record)
	if status.State != StateUp {
		return status, nil
	}
	if err := askAPI(ctx, record.Kubeconfig); err != nil {
		status.problem("the API server doesn't answer: %v", err)
	}
	if record.Nodes > 0 {
		machines, err := simclient.New(dir.Socket()).Status(ctx)
		if err != nil {
			status.problem("the machines don't answer: %v", err)
		}
		status.Nodes = machines.Nodes
	}
	return status, nil
}

// Summaries looks at all labs of this user from outside.
func Summaries() ([]Status, error) {
	names, err := labdir.Names()
	if err != nil {
		return nil, err
	}
	all := make([]Status, 0, len(names))
	for _, name := range names {
		_, record, err := labdir.Open(name)
		if err != nil {
			all = append(all, Status{Name: name, State: StateBroken, Problems: []string{err.Error()}})
			continue
		}
		all = append(all, summary(record))
	}
	return all, nil
}

func (s *Status) problem(format string, args ...any) {
	s.State = StateBroken
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

func summary(record labdir.Record) Status {
	status := Status{
		Name:       record.Name,
		State:      StateUp,
		Created:    record.Created,
		Server:     record.Server,
		Kubeconfig: record.Kubeconfig,
	}
	for _, p := range record.Processes {
		alive := p.ID.Alive()
		status.Processes = append(status.Processes, ProcessStatus{Name: p.Name, PID: p.ID.PID, Alive: alive, Log: p.Log})
		if !alive {
			status.problem("%s (process %d) has ended, see %s", p.Name, p.ID.PID, filepath.Base(p.Log))
		}
	}
	switch {
	case !record.InUse():
		status.State = StateDead
	case !record.Ready && record.Starter.Alive():
		status.State = StateStarting
	case !record.Ready:
		status.problem("\"up\" or \"restore\" died before the lab was ready; end it with \"down --name %s\"", record.Name)
	}
	return status
}

func askAPI(ctx context.Context, kubeconfig string) error {
	client, err := newClient(kubeconfig)
	if err != nil {
		return err
	}
	return apiReady(client)(ctx)
}
