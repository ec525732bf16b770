package real

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/nodefence/nodefence/test/lab/control"
	"github.com/nodefence/nodefence/test/lab/machine/writers"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// handler serves the paths of simulated machines, and the path for BMCs.
func (l *lab) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		control.Answer(w, http.StatusOK, simclient.Status{Nodes: l.status()})
	})
	mux.HandleFunc("POST /v1/nodes/{node}/{verb}", l.withMachine(func(m *machine, r *http.Request) (any, error) {
		return struct{}{}, m.do(r.PathValue("verb"))
	}))
	mux.HandleFunc("POST /v1/bmc/{node}/fault", l.withMachine(setFault))
	mux.HandleFunc("GET /v1/bmc/{node}/log", l.withMachine(func(m *machine, _ *http.Request) (any, error) {
		return m.bmc.Log(), nil
	}))
	mux.HandleFunc("POST /v1/chassis/{node}", l.withMachine(askChassis))
	mux.HandleFunc("GET /v1/writers", func(w http.ResponseWriter, _ *http.Request) {
		ledger, err := l.readVolumes()
		if err != nil {
			control.Refuse(w, http.StatusInternalServerError, err)
			return
		}
		control.Answer(w, http.StatusOK, struct {
			Records  []writers.Record  `json:"records"`
			Overlaps []writers.Overlap `json:"overlaps"`
		}{ledger.Records(), ledger.Overlaps()})
	})
	return mux
}

func (l *lab) status() []simclient.Node {
	all := make([]simclient.Node, 0, len(l.machines))
	for _, m := range l.machines {
		all = append(all, m.status())
	}
	return all
}

func (m *machine) status() simclient.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	power := "off"
	if m.power {
		power = "on"
	}
	return simclient.Node{
		Name: m.boot.Node, Power: power, State: m.state(), BootID: m.boot.BootID, SystemUUID: m.boot.UUID,
		BMC: m.bmc.address + ":" + bmcPort, Username: m.bmc.username, Password: m.bmc.password, Fault: m.bmc.Fault(),
	}
}

func setFault(m *machine, r *http.Request) (any, error) {
	var body struct {
		Fault string `json:"fault"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	return struct{}{}, m.bmc.spoil(body.Fault)
}

func askChassis(m *machine, r *http.Request) (any, error) {
	var body struct {
		Args []string `json:"args"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	says, err := m.bmc.answer(body.Args)
	return map[string]string{"says": says}, err
}

// withMachine finds the machine, and calls do. An error of do is the caller's mistake.
func (l *lab) withMachine(do func(*machine, *http.Request) (any, error)) http.HandlerFunc {
	return control.HandleMachine(l.findMachine, errState, do)
}

func (l *lab) findMachine(name string) *machine {
	for _, m := range l.machines {
		if m.boot.Node == name {
			return m
		}
	}
	return nil
}

// readVolumes also brings the journal of writers up to date.
func (l *lab) readVolumes() (*writers.Ledger, error) {
	machineOf := map[string]string{}
	for _, m := range l.machines {
		machineOf[m.boot.Node] = m.boot.UUID
	}
	return readVolumes(l.config.volumes(), filepath.Join(l.config.StateDir, WritersFile), machineOf)
}
