package v1alpha1

// Scope is what a device takes from the machine, as a FenceTarget has it.
// +kubebuilder:validation:Enum=Storage;Network
type Scope string

// The scopes. A device without one switches the machine's power.
const (
	ScopeStorage Scope = "Storage"
	ScopeNetwork Scope = "Network"
)

// Coverage is the storage that a device of scope Storage cuts the machine off from.
type Coverage struct {
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	StorageClasses []string `json:"storageClasses,omitempty"`
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	CSIDrivers []string `json:"csiDrivers,omitempty"`
}

// Empty covers nothing.
func (c *Coverage) Empty() bool {
	return c == nil || len(c.StorageClasses)+len(c.CSIDrivers) == 0
}

// IsolationRecord is what was asked of one device of status.decision.devices that
// cuts the machine off, and what it said.
type IsolationRecord struct {
	// Device in words.
	Device string `json:"device"`
	// LastRead is On for access and Off for none; FirstCut the first of the reads of
	// none in a row.
	// +optional
	LastRead *Read `json:"lastRead,omitempty"`
	// +optional
	FirstCut *Read `json:"firstCut,omitempty"`
	// OffAt, OnAt: when our last word to cut, and to give back, was intended.
	// +optional
	OffAt *Time `json:"offAt,omitempty"`
	// +optional
	OnAt *Time `json:"onAt,omitempty"`
	// EffectUntil is the last moment at which a call of ours may still take effect (S8).
	// +optional
	EffectUntil *Time `json:"effectUntil,omitempty"`
	// SwitchedByUs: a cut was intended after a read of access. Only then is access given
	// back (S12).
	// +optional
	SwitchedByUs bool `json:"switchedByUs,omitempty"`
	// SeenCutAt is when it was last seen without access.
	// +optional
	SeenCutAt *Time `json:"seenCutAt,omitempty"`
	// GaveUp: it could not be cut off, and the fence went on without.
	// +optional
	GaveUp bool `json:"gaveUp,omitempty"`
	// Abandoned: a person ended the record before access could be given back.
	// +optional
	Abandoned bool `json:"abandoned,omitempty"`
	// +optional
	Tries int32 `json:"tries,omitempty"`
	// NotBefore spaces the calls.
	// +optional
	NotBefore *Time `json:"notBefore,omitempty"`
	// LastError is the device's last failure, in words, without secrets.
	// +optional
	LastError string `json:"lastError,omitempty"`
}

// RestoreRecord is where a fence goes on once access is given back, and why.
type RestoreRecord struct {
	Then   Phase  `json:"then"`
	Reason Reason `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}
