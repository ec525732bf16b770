package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeFence is the record of a node's fence. It is named like the node, so that the API server
// keeps it to one; a later fence of the same node reopens it with the next fenceNumber. People
// write its spec, nodefence its status. Without a status, as when it was applied from a file, it
// is no fence and does nothing.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nfence,categories=fencing
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=PHASE,type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name=REASON,type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name=POLICY,type=string,JSONPath=`.status.decision.policy.name`
// +kubebuilder:printcolumn:name=ACTION,type=string,JSONPath=`.status.decision.settings.action`
// +kubebuilder:printcolumn:name=OPENED,type=date,JSONPath=`.status.openedAt`
// +kubebuilder:printcolumn:name=MESSAGE,type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name=NUMBER,type=integer,priority=1,JSONPath=`.status.fenceNumber`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == self.spec.nodeName",message="a NodeFence is named like its node (spec.nodeName)"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.fenceNumber) || has(self.status) && has(self.status.fenceNumber) && self.status.fenceNumber >= oldSelf.status.fenceNumber",message="status.fenceNumber never goes back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.decision) || !has(self.status) || !has(self.status.fenceNumber) || self.status.fenceNumber != oldSelf.status.fenceNumber || has(self.status.decision) && self.status.decision.nodeUID == oldSelf.status.decision.nodeUID",message="status.decision.nodeUID does not change within one fence (status.fenceNumber)"
type NodeFence struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, labels and the like.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a person decides.
	// +required
	Spec NodeFenceSpec `json:"spec"`
	// status is what nodefence found and did.
	// +optional
	// +structType=atomic
	Status NodeFenceStatus `json:"status,omitzero"`
}

// NodeFenceSpec is what people write: which node, and what they ask of its fence.
type NodeFenceSpec struct {
	// nodeName is the name of the node, and of this object, so that it does not change: 1
	// to 253 letters.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:MinLength=1
	// +required
	NodeName string `json:"nodeName"`
	// requests are what people ask of this fence. An admission policy makes sure that the
	// recorded name is the authenticated one (S20).
	// +optional
	Requests Requests `json:"requests,omitzero"`
	// trust is a person's statement that the node's device may be believed again after a power cut that the boot ID
	// refuted (status.refuted). Its writer needs the verb trust on nodefences, and an admission policy makes sure that
	// the recorded name is the authenticated one (S20).
	// +optional
	Trust *Trust `json:"trust,omitempty"`
}

// NodeFenceStatus is the state of the automaton. Only nodefence writes it. An admission policy
// lets only accounts with the verb decide on nodefences, that is the gate, write fenceNumber and
// decision.
type NodeFenceStatus struct {
	// observedGeneration is the metadata.generation whose requests were looked at.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// minReaderVersion is the version of this record's meaning. A program that knows only
	// lower ones leaves the record alone (S21).
	// +optional
	MinReaderVersion int32 `json:"minReaderVersion,omitempty"`
	// fenceNumber numbers the fences of this node from 1. Without it no fence was ever opened.
	// +kubebuilder:validation:Minimum=1
	// +optional
	FenceNumber int64 `json:"fenceNumber,omitempty"`
	// decision is what the gate decided for this fence. Its writer needs the verb decide on
	// nodefences.
	// +optional
	Decision Decision `json:"decision,omitzero"`
	// phase is where the fence stands. Each phase has one event and one owner.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason is the one word for why it stands where it stands, of the closed list in
	// infra/crd/REASONS.md.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// waitsFor names what others have to give before the fence goes on. Not set: the fence waits for
	// nobody.
	// +optional
	WaitsFor WaitsFor `json:"waitsFor,omitempty"`
	// message says it in a sentence, with the numbers, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// lastError is what a look at this fence or an action of it ran into, such as a refused write.
	// It is missing once that has succeeded, or is not tried any more. Nothing is decided by it.
	// +optional
	LastError *LastError `json:"lastError,omitempty"`
	// retries counts the failed tries of the step under way.
	// +optional
	Retries int32 `json:"retries,omitempty"`
	// restarts counts how often the whole flow started over.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// cutOrReleased is set once power was cut or work released: what decision.askedBy asks for is
	// done, and from then on the node's health alone decides.
	// +optional
	CutOrReleased bool `json:"cutOrReleased,omitempty"`
	// openedAt is when the fence was opened, by the API server's clock.
	// +optional
	OpenedAt *Time `json:"openedAt,omitempty"`
	// phaseSince is when the phase began, by the API server's clock.
	// +optional
	PhaseSince *Time `json:"phaseSince,omitempty"`
	// decidedAt is when the gate last admitted the fence. Once that is older than its validity,
	// the gate decides again (S17).
	// +optional
	DecidedAt *Time `json:"decidedAt,omitempty"`
	// givenBack is when the reservation was made that this fence gave back unused. That
	// reservation is no slot any more.
	// +optional
	GivenBack *Time `json:"givenBack,omitempty"`
	// wouldBeginAt is when the fence would have begun under Enforce, where its policy is in mode DryRun: when
	// its slot was reserved in status.dryRuns of the FenceLedger. It is missing while the fence would be held.
	// +optional
	WouldBeginAt *Time `json:"wouldBeginAt,omitempty"`
	// wouldDrainAt is when the drain of the node would have begun under Enforce, where the policy is in mode
	// DryRun. It is missing once the fence would have begun.
	// +optional
	WouldDrainAt *Time `json:"wouldDrainAt,omitempty"`
	// approvalSince is since when the fence waits for a person.
	// +optional
	ApprovalSince *Time `json:"approvalSince,omitempty"`
	// nextLook is when this record must be looked at again; missing on an
	// open record means now (S19).
	// +optional
	NextLook *Time `json:"nextLook,omitempty"`
	// transitions counts saves that changed the phase; it tells events apart.
	// +optional
	Transitions int64 `json:"transitions,omitempty"`
	// claim is the one device call that may be in flight (S7).
	// +optional
	Claim *Claim `json:"claim,omitempty"`
	// jobs are those in which a fence agent ran for this fence, the last 16, oldest
	// first.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	Jobs []string `json:"jobs,omitempty"`
	// evidence is what is wrong with the node now, and since when by nodefence's looks.
	// +kubebuilder:validation:MaxItems=40
	// +listType=atomic
	// +optional
	Evidence []Evidence `json:"evidence,omitempty"`
	// activityChecks is the result of the policy's activity checks so far.
	// +optional
	ActivityChecks *ActivityRecord `json:"activityChecks,omitempty"`
	// storageCheck is the last round of the policy's storage check.
	// +optional
	StorageCheck *CheckRound `json:"storageCheck,omitempty"`
	// kdump is what this fence knows of the machine's dump.
	// +optional
	Kdump *KdumpRecord `json:"kdump,omitempty"`
	// drain is how the node was drained, if it was Ready when its fence would have begun.
	// +optional
	Drain *DrainRecord `json:"drain,omitempty"`
	// silentSince is since when the node has not lived while its fence waits in phase Pending, and
	// would drain a node that lives: it is not Ready, or its Lease has missed two renewals. It is
	// missing while the node lives.
	// +optional
	SilentSince *Time `json:"silentSince,omitempty"`
	// isolation is what each device that cuts the machine off was asked, and what it said.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=device
	// +optional
	Isolation []IsolationRecord `json:"isolation,omitempty"`
	// restore says where the fence continues once access is given back.
	// +optional
	Restore *RestoreRecord `json:"restore,omitempty"`
	// machine says when, and how often, the deletion of a Machine that has no node was asked for.
	// +optional
	Machine *MachineRecord `json:"machine,omitempty"`
	// awaited is set when all tries were used up after power was cut or work was released. The
	// device is read, more and more slowly, for as long as it takes.
	// +optional
	Awaited *AwaitedRecord `json:"awaited,omitempty"`
	// power is what was read of the machine's power, and what was done to it.
	// +optional
	Power PowerRecord `json:"power,omitzero"`
	// confirmReads are the reads of the machine's devices before a person's confirmation counts.
	// +optional
	ConfirmReads *ConfirmReads `json:"confirmReads,omitempty"`
	// proof is why the machine counts as off.
	// +optional
	Proof *Proof `json:"proof,omitempty"`
	// lease is the node's Lease as last seen.
	// +optional
	Lease LeaseRecord `json:"lease,omitzero"`
	// bootIDBefore is the node's boot ID when its power was first looked at.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	BootIDBefore string `json:"bootIDBefore,omitempty"`
	// saidBefore are the conditions of the Node, the kubelet's own left out, as they stood when the
	// machine was last proven off, at most 32. As long as a condition stands so, it was said of the boot before, and
	// counts neither for this fence nor for a later one.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=type
	// +optional
	SaidBefore []SaidCondition `json:"saidBefore,omitempty"`
	// provenCut is the last power cut by nodefence that two reads proved, until the kubelet says which boot ID the
	// node has since. It is kept across fences of the node.
	// +optional
	ProvenCut *ProvenCut `json:"provenCut,omitempty"`
	// refuted is the power cut that the boot ID refutes: the machine never was off. No read of off proves anything,
	// and no fence goes by a device, until a person says that the device may be believed (spec.trust). It is kept
	// across fences of the node.
	// +optional
	Refuted *Refutation `json:"refuted,omitempty"`
	// placed is what nodefence put on the node and must take away (S22).
	// +optional
	Placed Placed `json:"placed,omitzero"`
	// release is how far the node's work is released.
	// +optional
	Release ReleaseRecord `json:"release,omitzero"`
	// readySince is since when recovery has seen the node healthy.
	// +optional
	ReadySince *Time `json:"readySince,omitempty"`
	// keptSince is since when the node, healthy and with our cordon on it, waits for a person
	// (recovery.uncordon: Manual). A person who removes the cordon after that gives the node
	// back.
	// +optional
	KeptSince *Time `json:"keptSince,omitempty"`
	// answers are the answers to what people asked of this fence (spec.requests), one for each
	// kind of request.
	// +kubebuilder:validation:MaxItems=5
	// +listType=map
	// +listMapKey=request
	// +optional
	Answers []RequestAnswer `json:"answers,omitempty"`
	// outcome is the one word for how the fence ended, of the closed list in
	// infra/crd/REASONS.md; empty while it is open.
	// +optional
	Outcome Reason `json:"outcome,omitempty"`
	// report is the FenceReport of this fence. It is set once the fence is ready to be closed. A fence that ended before
	// anything was decided, and that nobody had asked for, has none.
	// +optional
	Report *ReportRecord `json:"report,omitempty"`
	// history is the history of this fence, oldest first, at most 64 entries.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	History []HistoryEntry `json:"history,omitempty"`
	// past are the last ten fences of this node, oldest first, and before them those
	// of the last day that cut its power.
	// +kubebuilder:validation:MaxItems=110
	// +listType=atomic
	// +optional
	Past []PastFence `json:"past,omitempty"`
	// views are the words of other systems for where this fence stands. They are derived,
	// and nothing reads them.
	// +optional
	Views Views `json:"views,omitzero"`
	// conditions say how far this fence has come: Admitted, Isolated, ProvenOff, Released,
	// Recovered and Succeeded. All are Unknown when a fence opens; observedGeneration is the
	// metadata.generation whose requests were looked at.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Call is what a device is asked.
// +kubebuilder:validation:Enum=Read;Off;On
type Call string

// The calls.
const (
	CallRead Call = "Read"
	CallOff  Call = "Off"
	CallOn   Call = "On"
)

// ProofKind says what the proof rests on.
// +kubebuilder:validation:Enum=SeenOff;Confirmed;StorageCut;Kdump
type ProofKind string

// The kinds of proof that are built (S1).
const (
	ProofSeenOff   ProofKind = "SeenOff"
	ProofConfirmed ProofKind = "Confirmed"
	// ProofStorageCut holds for exactly the pods all of whose writable volumes are cut: the
	// machine may run on.
	ProofStorageCut ProofKind = "StorageCut"
	// ProofKdump is a machine that dumps its memory right now, where the policy opts
	// in. It frees pods and nothing else.
	ProofKdump ProofKind = "Kdump"
)

// Ages tells whether the proof rests on reads, which grow old (S3).
func (k ProofKind) Ages() bool { return k != ProofConfirmed }

// NodeFenceList is a list of NodeFence.
// +kubebuilder:object:root=true
type NodeFenceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeFence `json:"items"`
}

// Open tells whether the fence is still to be worked on. A record without a status is
// no fence: its author has not opened one, or it came from a file.
func (f *NodeFence) Open() bool {
	return f.Status.FenceNumber > 0 && f.Status.Phase != Finished || f.leftover()
}

// HoldsSlot tells whether the fence counts against maxConcurrent (S14). One that waits
// for its device to answer again does not, and goes on without a slot when it does.
func (f *NodeFence) HoldsSlot() bool { return f.CurrentPhase().HoldsSlot() && f.Status.Awaited == nil }

// leftover tells whether the record is being deleted, has no open fence, and still has our
// finalizer: a gate added that, and died before it opened a fence.
func (f *NodeFence) leftover() bool {
	return f.DeletionTimestamp != nil && (f.Status.FenceNumber == 0 || f.Status.Phase == Finished) && slices.Contains(f.Finalizers, Finalizer)
}

// CurrentPhase is the phase that the record is in: Finished where there is no fence.
func (f *NodeFence) CurrentPhase() Phase {
	switch {
	case !f.Open():
		return Finished
	case f.Status.Phase == "" || f.Status.Phase == Finished:
		return Pending
	}
	return f.Status.Phase
}
