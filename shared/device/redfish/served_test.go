package redfish_test

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
	"github.com/nodefence/nodefence/shared/device/trust/trusttest"
)

const (
	user     = "fence"
	password = "hunter-2-hunter"
	changed  = "hunter-3-hunter"
	uuid     = "00112233-4455-6677-8899-aabbccddeeff"
	another  = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	uri      = "/redfish/v1/Systems/1"
	resetURI = uri + "/Actions/ComputerSystem.Reset"
	sessions = "/redfish/v1/SessionService/Sessions"
)

// served is a BMC of three machines, of which the first is meant.
type served struct {
	redfishtest.BMC
	devicetest.Fault
	host, port string
	ca         *trusttest.CA

	mu   sync.Mutex
	sent []string
}

// serve ends with t.
func serve(t testing.TB) *served {
	t.Helper()
	s := prepare(t)
	s.host, s.port = s.Serve(t, s.ca.Issue(t, nil, "127.0.0.1"))
	return s
}

// prepare is all but the listening.
func prepare(t testing.TB) *served {
	t.Helper()
	s := &served{BMC: redfishtest.BMC{Users: map[string]string{user: password}}, ca: trusttest.New(t)}
	s.Put(
		redfishtest.System{ID: "1", UUID: uuid, Power: redfishtest.On, Resets: []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}},
		redfishtest.System{ID: "2", UUID: "22222222-4455-6677-8899-aabbccddeeff", Power: redfishtest.On},
		redfishtest.System{ID: "3", Power: redfishtest.On},
	)
	s.BMC.Show, s.Heard = s.show, s.hear
	return s
}

func (s *served) setFault(fault string) {
	s.Play(fault)
	s.Hold(false)
	s.Refuse(http.MethodPost, resetURI, redfishtest.Refusal{})
	s.Breaks(redfishtest.Whole)
	word := password
	no := redfishtest.Refusal{Status: 409, MessageID: "Base.1.8.ResourceInUse", Message: "The change to the requested resource failed because the resource is in use."}
	switch fault {
	case devicetest.Hang:
		s.Breaks(redfishtest.Hang)
	case devicetest.Refuse, devicetest.Mute:
		s.Refuse(http.MethodPost, resetURI, no)
	case devicetest.AcceptAndIgnore, devicetest.Slow, devicetest.Early, devicetest.Lie:
		s.Hold(true)
	case devicetest.Stopping:
		s.Hold(true)
		s.Put(redfishtest.System{ID: "1", UUID: uuid, Power: redfishtest.PoweringOff})
	case devicetest.WrongPassword:
		word = changed
	case devicetest.ResetConnection:
		s.Breaks(redfishtest.CutAfter, "POST "+resetURI)
	}
	s.Allow(user, word)
}

// show is what the BMC pretends.
func (s *served) show(sys redfishtest.System) redfishtest.System {
	switch {
	case sys.ID != "1":
	case s.Is(devicetest.Other):
		sys.UUID = another
	case s.Is(devicetest.Mute):
		sys.Power = ""
	case s.Is(devicetest.Early, devicetest.Lie) && sys.Power == redfishtest.PoweringOff:
		sys.Power = redfishtest.Off
	}
	return sys
}

// hear notes every request.
func (s *served) hear(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/redfish/v1"))
}

// heard are the requests since it was asked last.
func (s *served) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// told is in the suite's words.
func (s *served) told() []string {
	var words []string
	for _, r := range s.Resets() {
		switch {
		case r.Status > 299:
		case r.ID != "1":
			words = append(words, "system "+r.ID)
		case r.Type == "ForceOff":
			words = append(words, "off")
		case r.Type == "On":
			words = append(words, "on")
		default:
			words = append(words, r.Type)
		}
	}
	return words
}

// params choose the first machine by its URI.
func (s *served) params(more map[string]string) map[string]string {
	p := map[string]string{
		"ip": s.host, "ipport": s.port, "systems_uri": uri, "username": user, "password": password, "ca": s.ca.PEM,
	}
	maps.Copy(p, more)
	return p
}

func (s *served) dial(t testing.TB, more map[string]string) device.Driver {
	t.Helper()
	d, err := redfish.Kind().Open(s.params(more))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
