package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/test/lab/simclient"
)

// control is the API by which the command line plays with the machines.
func (l *lab) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { answer(w, l.status()) })
	mux.HandleFunc("GET /v1/writers", func(w http.ResponseWriter, _ *http.Request) {
		records, overlaps := l.writers.all()
		answer(w, map[string]any{"records": records, "overlaps": overlaps})
	})
	mux.HandleFunc("POST /v1/nodes/{node}/{verb}", l.onMachine(func(m *machine, r *http.Request) (any, error) {
		do, ok := verbs[r.PathValue("verb")]
		if !ok {
			return nil, fmt.Errorf("unknown verb %q: there are %s", r.PathValue("verb"), strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
		}
		return struct{}{}, do(m)
	}))
	mux.HandleFunc("POST /v1/bmc/{node}/fault", l.onMachine(func(m *machine, r *http.Request) (any, error) {
		var body struct {
			Fault string `json:"fault"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, fmt.Errorf("read the fault: %w", err)
		}
		return struct{}{}, m.bmc.SetFault(body.Fault)
	}))
	mux.HandleFunc("GET /v1/bmc/{node}/log", l.onMachine(func(m *machine, _ *http.Request) (any, error) {
		log := []simclient.Command{}
		for _, c := range m.bmc.Log() {
			log = append(log, simclient.Command(c))
		}
		return log, nil
	}))
	return mux
}

func (l *lab) onMachine(do func(*machine, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := l.machines[r.PathValue("node")]
		if m == nil {
			refuse(w, http.StatusNotFound, fmt.Errorf("no machine %q: there are %s0 to %s%d",
				r.PathValue("node"), l.cfg.NodePrefix, l.cfg.NodePrefix, l.cfg.Nodes-1))
			return
		}
		v, err := do(m, r)
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		answer(w, v)
	}
}

func (l *lab) status() simclient.Status {
	var s simclient.Status
	for _, m := range l.order {
		m.mu.Lock()
		n := simclient.Node{
			Name: m.name, Power: "off", State: m.state(), BootID: m.bootID, SystemUUID: m.systemUUID,
			Username: m.username, Password: m.password, BMC: m.bmc.Addr(),
		}
		if m.powered {
			n.Power = "on"
		}
		m.mu.Unlock()
		n.Fault = m.bmc.Fault() // its own lock comes before the machine's
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}
