package v1alpha1

// Reason is one word for one cause, the same in condition, Event, CloudEvent,
// metric label and log. The list is complete: a refusal has no other words.
type Reason string

// Why a fence stands where it stands.
const (
	// Ways forward.
	Opened          Reason = "Opened"
	Waiting         Reason = "WaitingForTime"
	Admitted        Reason = "Admitted"
	Isolated        Reason = "Isolated"
	ReadOn          Reason = "MachineReadOn"
	ReadOff         Reason = "MachineReadOff"
	PowerOffSent    Reason = "PowerOffSent"
	SeenOff         Reason = "SeenOff"
	ConfirmedOff    Reason = "ConfirmedOff"
	ReleaseStarted  Reason = "ReleaseStarted"
	Released        Reason = "Released"
	PowerOnSent     Reason = "PowerOnSent"
	SeenOn          Reason = "SeenOn"
	StaysOff        Reason = "StaysOff"
	NodeHealthy     Reason = "NodeHealthy"
	Undone          Reason = "Undone"
	Recovered       Reason = "Recovered"
	ProofExpired    Reason = "ProofExpired"
	DecisionExpired Reason = "DecisionExpired"
	FlowRestarted   Reason = "FlowRestarted"
	RetryAsked      Reason = "RetryAsked"

	// Holds of the gate: nothing is touched.
	DryRunHold         Reason = "DryRun"
	PausedHold         Reason = "Paused"
	StoppedHold        Reason = "Stopped"
	StormHold          Reason = "TooManyUnhealthy"
	CoolDownHold       Reason = "StormCoolDown"
	ConcurrencyHold    Reason = "TooManyConcurrent"
	LeasesStaleHold    Reason = "MostLeasesStale"
	PictureOldHold     Reason = "LeasePictureOld"
	NodeLimitHold      Reason = "NodeFencedTooOften"
	ControlPlaneHold   Reason = "ControlPlaneNode"
	OwnMachineHold     Reason = "OwnMachine"
	PolicyConflictHold Reason = "PolicyConflict"
	TooFewHold         Reason = "TooFewUnhealthy"
	RateHold           Reason = "TooManyInATime"
	BudgetHold         Reason = "BudgetExhausted"
	ExcludedHold       Reason = "Excluded"
	DeletionHold       Reason = "NodeBeingDeleted"
	ApprovalHold       Reason = "WaitingForApproval"
	ConfirmationHold   Reason = "WaitingForConfirmation"
	QuorumHold         Reason = "EtcdQuorum"

	// Things that went wrong, or turned.
	Healed          Reason = "HealedBeforeFence"
	AbortedByPerson Reason = "Aborted"
	NodeReplaced    Reason = "NodeReplaced"
	NodeGone        Reason = "NodeGone"
	NodeRebooted    Reason = "NodeRebooted"
	SignOfLife      Reason = "SignOfLife"
	WrongMachine    Reason = "WrongMachine"
	DeviceFailed    Reason = "DeviceFailed"
	OffNotSeen      Reason = "PowerOffNotSeen"
	OnNotSeen       Reason = "PowerOnNotSeen"
	BindingInvalid  Reason = "BindingInvalid"
	NotApproved     Reason = "NotApproved"
	BootTimedOut    Reason = "BootTimedOut"
	ReleaseTimedOut Reason = "ReleaseTimedOut"
	RequestFailed   Reason = "RequestFailed"
	CallLost        Reason = "CallLost"
	EventLost       Reason = "EventLost"

	// Why an event that asks for a fence opens none.
	NotTrusted     Reason = "SourceNotTrusted"
	TokenRefused   Reason = "TokenRefused"
	NotAllowed     Reason = "NotAllowed"
	RequestServed  Reason = "RequestServedAlready"
	RequestOld     Reason = "RequestTooOld"
	RequestMerged  Reason = "RequestMerged"
	NoPolicy       Reason = "NoPolicy"
	NoSuchNode     Reason = "NoSuchNode"
	ConditionClear Reason = "Healthy"
)
