package v1alpha1

// Phase is where a fence stands. Each has one event, io.nodefence.fence.<phase,
// lower case>.v1, and one function that owns it.
//
// +kubebuilder:validation:Enum=Pending;Draining;Probing;Isolating;Fencing;Releasing;PoweringOn;Restoring;Recovering;Fenced;Failed;Finished
type Phase string

// The phases, in the order in which a fence goes through them.
const (
	// Pending waits for the policy's time, evidence, budget. Owner: gate.
	Pending Phase = "Pending"
	// Draining asks the pods of a node that still lives to leave, without a slot. Owner: cleanup.
	Draining Phase = "Draining"
	// Probing reads the machine's device once, and touches nothing: for a Lease that stands
	// still, under an action that only waits for the machine to be off, or as an activity
	// check. Owner: power.
	Probing Phase = "Probing"
	// Isolating keeps new work away, and cuts off storage and network where that is
	// configured. Owner: isolate.
	Isolating Phase = "Isolating"
	// Fencing makes sure, and proves, that the machine is off. Owner: power.
	Fencing Phase = "Fencing"
	// Releasing frees pods and volumes of a machine proven off. Owner: cleanup.
	Releasing Phase = "Releasing"
	// PoweringOn brings back a machine that we cut. Owner: power.
	PoweringOn Phase = "PoweringOn"
	// Restoring gives storage and network back that we cut. Owner: isolate.
	Restoring Phase = "Restoring"
	// Recovering waits for health and undoes what we placed. Owner: recover.
	Recovering Phase = "Recovering"
	// Fenced is a machine that is off and stays off until a person switches it
	// on; its work is released. Owner: recover.
	Fenced Phase = "Fenced"
	// Failed is given up: visible, retried when a person asks, reset when the
	// node is healthy (S27). Owner: recover.
	Failed Phase = "Failed"
	// Finished is closed; a later fence of the node reopens the object.
	Finished Phase = "Finished"
)

// Phases lists all phases in order.
var Phases = []Phase{Pending, Draining, Probing, Isolating, Fencing, Releasing, PoweringOn, Restoring, Recovering, Fenced, Failed, Finished}

// Known tells whether this nodefence knows the phase (S21).
func (p Phase) Known() bool {
	for _, q := range Phases {
		if p == q {
			return true
		}
	}
	return p == ""
}

// HoldsSlot tells whether a fence in this phase counts against maxConcurrent:
// from reservation to release (S14). Pending holds one only with a live
// reservation. Of a fence, ask NodeFence.HoldsSlot.
func (p Phase) HoldsSlot() bool {
	return p == Probing || p == Isolating || p == Fencing || p == Releasing
}

// LeadsToRelease tells whether a fence in this phase is on its way to releasing the work.
func (p Phase) LeadsToRelease() bool { return p == Pending || p == Draining || p.HoldsSlot() }

// Step and Status are the words of the node-fencing proposal, derived from the phase.
func (p Phase) Step() string {
	switch p {
	case Pending, Draining, Probing, Isolating:
		return "Isolation"
	case Fencing, Releasing:
		return "Power-Management"
	case "":
		return ""
	}
	return "Recovery"
}

// Status is the proposal's status word of a phase: New, Running, Done, Final or Error.
func (p Phase) Status() string {
	switch p {
	case Pending, "":
		return "New"
	case Fenced:
		return "Done"
	case Finished:
		return "Final"
	case Failed:
		return "Error"
	}
	return "Running"
}
