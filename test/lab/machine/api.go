package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/nodefence/nodefence/test/lab/control"
	"github.com/nodefence/nodefence/test/lab/machine/bmc"
	"github.com/nodefence/nodefence/test/lab/machine/writers"
	"github.com/nodefence/nodefence/test/lab/simclient"
)

// serve answers on the socket until ctx ends.
func (l *lab) serve(ctx context.Context) error {
	listener, err := control.Listen(l.config.Socket)
	if err != nil {
		return err
	}
	slog.Info("machines run", "nodes", len(l.names), "socket", l.config.Socket)
	return control.Serve(ctx, listener, l.handler())
}

func (l *lab) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		control.Answer(w, http.StatusOK, simclient.Status{Nodes: l.status()})
	})
	mux.HandleFunc("POST /v1/nodes/{node}/{verb}", l.withNode(func(n *node, r *http.Request) (any, error) {
		return struct{}{}, n.do(r.PathValue("verb"))
	}))
	mux.HandleFunc("POST /v1/relist", func(w http.ResponseWriter, _ *http.Request) {
		if err := l.relist(); err != nil {
			control.Refuse(w, http.StatusInternalServerError, err)
			return
		}
		control.Answer(w, http.StatusOK, struct{}{})
	})
	mux.HandleFunc("POST /v1/bmc/{node}/fault", l.withNode(setFault))
	mux.HandleFunc("GET /v1/bmc/{node}/log", l.withNode(func(n *node, r *http.Request) (any, error) {
		return n.controller(r.PathValue("node")).Log(), nil
	}))
	mux.HandleFunc("GET /v1/writers", func(w http.ResponseWriter, _ *http.Request) {
		control.Answer(w, http.StatusOK, struct {
			Records  []writers.Record  `json:"records"`
			Overlaps []writers.Overlap `json:"overlaps"`
		}{l.ledger.Records(), l.ledger.Overlaps()})
	})
	return mux
}

func (l *lab) status() []simclient.Node {
	all := make([]simclient.Node, 0, len(l.names))
	for _, name := range l.names {
		n := l.nodes[name]
		seen := n.look()
		power := "off"
		if seen.power {
			power = "on"
		}
		all = append(all, simclient.Node{
			Name: name, Power: power, State: seen.state, BootID: seen.bootID, SystemUUID: n.uuid.String(),
			BMC: n.bmc.Addr(), Username: n.username, Password: n.password, Fault: n.bmc.Fault(),
			Outlets: n.addresses(),
		})
	}
	return all
}

func setFault(n *node, r *http.Request) (any, error) {
	var body struct {
		Fault string `json:"fault"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("parse request: %w", err)
	}
	return struct{}{}, n.controller(r.PathValue("node")).SetFault(body.Fault)
}

// addresses are those of the machine's outlets.
func (n *node) addresses() map[string]string {
	all := map[string]string{}
	for name, o := range n.outlets {
		all[name] = o.Addr()
	}
	return all
}

// controller is a machine's BMC, NODE, or that of an outlet, NODE.a or NODE.b.
func (n *node) controller(name string) *bmc.BMC {
	if b := n.outlets[strings.TrimPrefix(name, n.name+".")]; b != nil {
		return b
	}
	return n.bmc
}

// find takes NODE, NODE.a and NODE.b.
func (l *lab) find(name string) *node {
	for _, o := range outlets {
		if machine, is := strings.CutSuffix(name, "."+o); is && l.nodes[machine] != nil {
			if l.nodes[machine].outlets[o] == nil {
				return nil // it was started without
			}
			return l.nodes[machine]
		}
	}
	return l.nodes[name]
}

// withNode finds the machine; if do refuses, that is the caller's mistake.
func (l *lab) withNode(do func(*node, *http.Request) (any, error)) http.HandlerFunc {
	return control.HandleMachine(l.find, errState, do)
}
