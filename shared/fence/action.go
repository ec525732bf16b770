package fence

// Action is the one thing to do next.
type Action string

// The actions.
const (
	None Action = ""
	// Resolve the device binding and save it in the spec. Owner: gate.
	Resolve Action = "Resolve"
	// Reserve a slot on the ledger. Owner: gate.
	Reserve Action = "Reserve"
	// Check asks the checks of the round under way. Owner: gate.
	Check Action = "Check"
	// Isolate places taint and cordon. Owner: isolate.
	Isolate Action = "Isolate"
	// Read, Off, On are the words with a device. Owner: power, and isolate for what
	// the claim names of status.decision.devices.
	Read Action = "Read"
	Off  Action = "Off"
	On   Action = "On"
	// MarkNotReady sets Ready=Unknown. Owner: cleanup.
	MarkNotReady Action = "MarkNotReady"
	// Release sets the out-of-service taint and force-deletes, as the policy's
	// cleanup says. Owner: cleanup.
	Release Action = "Release"
	// DeletePods force-deletes pods, and does no more: no taint, no attachment. Owner: cleanup.
	DeletePods Action = "DeletePods"
	// DeleteNode deletes the Node object of a machine that stays off. Owner: cleanup.
	DeleteNode Action = "DeleteNode"
	// DeleteMachine deletes a Machine that has no node. Owner: power.
	DeleteMachine Action = "DeleteMachine"
	// ClearOutOfService removes that taint, and fails what is about to place it. Owners: cleanup, recover.
	ClearOutOfService Action = "ClearOutOfService"
	// Undo removes taint and cordon. Owner: recover.
	Undo Action = "Undo"
	// DropFinalizer lets the record go. Owner: recover.
	DropFinalizer Action = "DropFinalizer"
)

// Device tells whether the action is a call to a device; one invocation makes
// at most one of them (S7).
func (a Action) Device() bool { return a == Read || a == Off || a == On }
