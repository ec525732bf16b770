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

// phaseRow is what belongs to a phase.
type phaseRow struct {
	phase Phase
	// owner is the function that handles the event of the phase; empty for Finished.
	owner string
	// step and status are the words of the node-fencing proposal.
	step, status string
	// slot: a fence in the phase counts against maxConcurrent, from reservation to release (S14).
	slot bool
}

// phaseRows has the phases in order. The lists of phases elsewhere are made from it.
var phaseRows = []phaseRow{
	{phase: Pending, owner: "gate", step: stepIsolation, status: "New"},
	{phase: Draining, owner: "cleanup", step: stepIsolation, status: "Running"},
	{phase: Probing, owner: "power", step: stepIsolation, status: "Running", slot: true},
	{phase: Isolating, owner: "isolate", step: stepIsolation, status: "Running", slot: true},
	{phase: Fencing, owner: "power", step: stepPower, status: "Running", slot: true},
	{phase: Releasing, owner: "cleanup", step: stepPower, status: "Running", slot: true},
	{phase: PoweringOn, owner: "power", step: stepRecovery, status: "Running"},
	{phase: Restoring, owner: "isolate", step: stepRecovery, status: "Running"},
	{phase: Recovering, owner: "recover", step: stepRecovery, status: "Running"},
	{phase: Fenced, owner: "recover", step: stepRecovery, status: "Done"},
	{phase: Failed, owner: "recover", step: stepRecovery, status: "Error"},
	{phase: Finished, step: stepRecovery, status: "Final"},
}

// The steps of the node-fencing proposal.
const (
	stepIsolation = "Isolation"
	stepPower     = "Power-Management"
	stepRecovery  = "Recovery"
)

// Phases lists all phases in order.
var Phases = phasesThat(func(phaseRow) bool { return true })

// PhasesOf lists the phases of an owner in order.
func PhasesOf(owner string) []Phase {
	return phasesThat(func(r phaseRow) bool { return r.owner == owner })
}

func phasesThat(is func(phaseRow) bool) (all []Phase) {
	for _, r := range phaseRows {
		if is(r) {
			all = append(all, r.phase)
		}
	}
	return all
}

// row returns the row of the phase; of an unknown one an empty row.
func (p Phase) row() phaseRow {
	for i := range phaseRows {
		if phaseRows[i].phase == p {
			return phaseRows[i]
		}
	}
	return phaseRow{}
}

// Known tells whether this nodefence knows the phase (S21).
func (p Phase) Known() bool { return p == "" || p.row().phase == p }

// Owner returns the function that handles the event of the phase; empty if none does.
func (p Phase) Owner() string { return p.row().owner }

// HoldsSlot tells whether a fence in this phase counts against maxConcurrent:
// from reservation to release (S14). Pending holds one only with a live
// reservation. Of a fence, ask NodeFence.HoldsSlot.
func (p Phase) HoldsSlot() bool { return p.row().slot }

// LeadsToRelease tells whether a fence in this phase is on its way to releasing the work.
func (p Phase) LeadsToRelease() bool { return p == Pending || p == Draining || p.HoldsSlot() }

// Step returns the step of the node-fencing proposal that the phase is a part of; empty if the fence has no phase.
func (p Phase) Step() string {
	if p != "" && !p.Known() {
		return stepRecovery
	}
	return p.row().step
}

// Status is the proposal's status word of a phase: New, Running, Done, Final or Error.
func (p Phase) Status() string {
	switch {
	case p == "":
		return "New"
	case !p.Known():
		return "Running"
	}
	return p.row().status
}
