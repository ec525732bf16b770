package v1alpha1

// KdumpRule says how a machine is treated that may be dumping the memory of its crashed kernel
// (kdump). Cutting its power would destroy the dump. The messages that nodefence-kdump gets are a
// hint that counts for a bounded time.
//
// +kubebuilder:validation:XValidation:rule="[self.quietDuration, self.timeout].exists(d, !d.matches('^([0-9]{1,5}(h|m|s)){1,3}$')) || duration(self.quietDuration) <= duration(self.timeout)",message="kdump.quietDuration (30s unless set) must not be longer than kdump.timeout (15m unless set), or no dump would be seen to end: shorten quietDuration, or lengthen timeout"
type KdumpRule struct {
	// firstMessageTimeout is how long after the fence was opened nodefence waits for a first
	// message. A crash kernel takes about half a minute to boot. With 0s only a dump counts that
	// has already sent a message. 0s to 1h, 60s unless set.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) <= duration('1h')",message="kdump.firstMessageTimeout must be between 0s and 1h"
	// +optional
	FirstMessageTimeout *Duration `json:"firstMessageTimeout,omitempty"`
	// quietDuration is how long after its last message a dump counts as ended.
	// fence_kdump_send sends one each 10s unless told otherwise. 5s to 10m, and not longer
	// than timeout; 30s unless set.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="kdump.quietDuration must be between 5s and 10m"
	// +optional
	QuietDuration *Duration `json:"quietDuration,omitempty"`
	// timeout is how long nodefence waits for a dump in all. After that the power is cut, even if
	// messages still come. 5s to 24h, 15m unless set.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="kdump.timeout must be between 5s and 24h"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// releasePodsWhileDumping lets the pods of a machine be force-deleted while it dumps its
	// memory: more than one message has come, the last within 5s, its node is not Ready, its
	// Lease has stood still for two renewals, and its boot ID is the one that it crashed with.
	// Volumes stay attached, and the out-of-service taint off, until the machine is seen off. It
	// is safe only if nobody else can send UDP with a node's address: where somebody can, or
	// where a node's traffic passes address translation (NAT), leave it off. It does nothing
	// where storage or network is cut off too. false unless set.
	// +kubebuilder:default=false
	// +optional
	ReleasePodsWhileDumping *bool `json:"releasePodsWhileDumping,omitempty"`
}

// KdumpRecord is what this fence knows of a dump.
type KdumpRecord struct {
	// since is when this fence first knew of a dump. The time that the fence waits for the dump
	// counts from here.
	// +required
	Since Time `json:"since"`
	// firstSeen is the first message's time at the listener, by the API server's clock.
	// +required
	FirstSeen Time `json:"firstSeen"`
	// lastSeen is the last message's time at the listener, by the API server's clock.
	// +required
	LastSeen Time `json:"lastSeen"`
	// source is the address that the messages came from.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Source string `json:"source"`
	// count is how many messages came; those that came close together count as one.
	// +required
	Count int64 `json:"count"`
	// bootID is the boot that the node had when the first message came.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootID string `json:"bootID,omitempty"`
	// doneAt is when no pod was left that may be released because of a dump.
	// +optional
	DoneAt *Time `json:"doneAt,omitempty"`
}
