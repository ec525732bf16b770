package redfishtest

import (
	"net/http"
	"slices"
	"sync"
)

// The power states of Redfish.
const (
	On          = "On"
	Off         = "Off"
	PoweringOn  = "PoweringOn"
	PoweringOff = "PoweringOff"
	Paused      = "Paused"
)

// System is one machine, as it is or as it is shown.
type System struct {
	// ID is the last part of its URI.
	ID, UUID string
	// Power is its power state, State that of its status.
	Power, State string
	// Resets are the values that it lists as allowed. If nil, it lists none and accepts
	// all.
	Resets []string
	// Type is shown in place of a ComputerSystem's.
	Type string
	// Target is shown in place of the path of its own resets.
	Target string
}

// Reset is one reset that came, in the order of arrival.
type Reset struct {
	ID, Type string
	// Status is what was answered.
	Status int
}

// BMC is one service. Set its exported fields before it is used.
type BMC struct {
	// Users are the passwords of the users who are let in.
	Users map[string]string
	// MaxSessions bounds the open sessions; 4 if it is 0.
	MaxSessions int
	// PageSize bounds what a list shows at once; 0 shows all.
	PageSize int
	// Tasks answers a reset with 202 and a task, as slower services do.
	Tasks bool
	// Already is the status that refuses a reset of a system that is as wanted already; if
	// 0, the reset is accepted.
	Already Refusal
	// Show changes what is told of a system.
	Show func(System) System
	// Moved is put before the URIs of opened sessions, for example another host.
	Moved string
	// Heard is called for each request, before it is handled.
	Heard func(*http.Request)
	// OnPower is called when a system has just been switched; not with any lock held.
	OnPower func(id string, on bool)

	mu        sync.Mutex
	order     []string
	systems   map[string]*System
	resets    []Reset
	sessions  map[string]string // by token
	opened    int
	refusals  map[string]Refusal
	broken    Break
	brokenFor []string
	held      bool
	gone      chan struct{}
}

// Put adds systems, or replaces them, without a hook.
func (b *BMC) Put(all ...System) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.systems == nil {
		b.systems = map[string]*System{}
	}
	for _, s := range all {
		if b.systems[s.ID] == nil {
			b.order = append(b.order, s.ID)
		}
		if s.State == "" {
			s.State = "Enabled"
		}
		b.systems[s.ID] = &s
	}
}

// PowerOf is a system's true power state; empty if there is none.
func (b *BMC) PowerOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.systems[id]; s != nil {
		return s.Power
	}
	return ""
}

// Resets are all resets that came.
func (b *BMC) Resets() []Reset {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.resets)
}

// Sessions are how many are open now, and how many were ever opened.
func (b *BMC) Sessions() (open, ever int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions), b.opened
}

// Hold keeps systems in states such as PoweringOff until Settle.
func (b *BMC) Hold(held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = held
}

// Settle moves all such systems to their final states.
func (b *BMC) Settle() {
	b.mu.Lock()
	var moved []string
	for id, s := range b.systems {
		if arrive(s) {
			moved = append(moved, id)
		}
	}
	b.mu.Unlock()
	b.tell(moved...)
}

func arrive(s *System) bool {
	switch s.Power {
	case PoweringOn:
		s.Power = On
	case PoweringOff:
		s.Power = Off
	default:
		return false
	}
	return true
}

func (b *BMC) tell(ids ...string) {
	if b.OnPower == nil {
		return
	}
	for _, id := range ids {
		b.OnPower(id, b.PowerOf(id) == On)
	}
}

// ways are the states that a reset passes through. A restart is on again at once: a client
// that polls never sees it off.
var ways = map[string]string{
	"On": PoweringOn, "ForceOn": PoweringOn,
	"ForceOff": PoweringOff, "GracefulShutdown": PoweringOff,
	"ForceRestart": PoweringOn, "GracefulRestart": PoweringOn, "PowerCycle": PoweringOn,
	"Nmi": "", "PushPowerButton": "",
}

// reset carries out one reset, and logs the result.
func (b *BMC) reset(id, kind string) Refusal {
	b.mu.Lock()
	s := b.systems[id]
	no := b.judge(s, kind)
	moved := no.Status == 0 && ways[kind] != "" && !is(s, kind)
	if moved {
		s.Power = ways[kind]
		if !b.held {
			arrive(s)
		}
	}
	status := no.Status
	if status == 0 {
		status = b.accepted()
	}
	b.resets = append(b.resets, Reset{id, kind, status})
	moved = moved && !b.held
	b.mu.Unlock()
	if moved {
		b.tell(id)
	}
	return no
}

func (b *BMC) judge(s *System, kind string) Refusal {
	_, known := ways[kind]
	switch {
	case s == nil:
		return missing
	case !known || (s.Resets != nil && !slices.Contains(s.Resets, kind)):
		return Refusal{Status: 400, MessageID: "Base.1.8.ActionParameterValueNotInList",
			Message: "The value '" + kind + "' for the parameter ResetType is not in the list of acceptable values."}
	case is(s, kind):
		return b.Already
	}
	return Refusal{}
}

// is reports whether a system is already as a reset would leave it.
func is(s *System, kind string) bool {
	switch kind {
	case "On", "ForceOn":
		return s.Power == On
	case "ForceOff", "GracefulShutdown":
		return s.Power == Off
	}
	return false
}
