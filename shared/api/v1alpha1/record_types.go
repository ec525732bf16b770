package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Claim is the right to make one device call until NotAfter.
type Claim struct {
	// holder names the invocation that holds the claim.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Holder string `json:"holder"`
	// call is what the device is asked: Read, Off or On.
	// +required
	Call Call `json:"call"`
	// device is the name of the device that the call is for, in status.decision.devices. Its
	// result counts only while there is a device of that name.
	// +kubebuilder:validation:MaxLength=32
	// +required
	Device string `json:"device"`
	// at is when the claim was made, by the API server's clock.
	// +required
	At Time `json:"at"`
	// notAfter is when the claim ends by itself: the call that it is for is broken off before
	// that.
	// +required
	NotAfter Time `json:"notAfter"`
	// noEarlierEffect says that no earlier Off or On of that device could still take effect when
	// the claim was made.
	// +optional
	NoEarlierEffect bool `json:"noEarlierEffect,omitempty"`
}

// PowerState is what a device says of its machine.
// +kubebuilder:validation:Enum=PoweredOn;PoweredOff;Unknown
type PowerState string

// The states. Of a device that cuts a machine off from storage or network, PoweredOn is
// that the machine has access, and PoweredOff that it has none.
const (
	PoweredOn    PowerState = "PoweredOn"
	PoweredOff   PowerState = "PoweredOff"
	PowerUnknown PowerState = "Unknown"
)

// StateOf is what a driver's word, On or Off, says; anything else says nothing.
func StateOf(power string) PowerState {
	switch power {
	case "On":
		return PoweredOn
	case "Off":
		return PoweredOff
	}
	return PowerUnknown
}

// Read is one reading of a device.
type Read struct {
	// state is PoweredOn, PoweredOff or Unknown. Of a device that cuts a machine off from
	// storage or network PoweredOn is access, and PoweredOff none.
	// +required
	State PowerState `json:"state"`
	// identity is what the device says its machine is, where it can tell.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Identity string `json:"identity,omitempty"`
	// missingSupply says which of several power supplies is not seen on, although the machine is.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	MissingSupply string `json:"missingSupply,omitempty"`
	// at is taken before the device was asked, so that its age is never understated.
	// +required
	At Time `json:"at"`
}

// ConfirmReads are the reads of the machine's power devices that come before a person's
// confirmation counts (spec.requests.confirmOff). A device without an entry was not read.
type ConfirmReads struct {
	// at is the second of the confirmation for which the devices are read. For another
	// confirmation they are read again.
	// +required
	At metav1.Time `json:"at"`
	// devices has an entry for each device that was read.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=device
	// +optional
	Devices []ConfirmRead `json:"devices,omitempty"`
}

// ConfirmRead is what one device has said since the confirmation. Two reads, a settle time
// apart, of which none says on, let the confirmation count.
type ConfirmRead struct {
	// device is the driver and the address of the device that was read.
	// +kubebuilder:validation:MaxLength=4608
	// +required
	Device string `json:"device"`
	// first is the first read of the latest row of reads of which none says on. Not set, no
	// read counts yet. Its state is Unknown where the device gave no answer about this machine.
	// +optional
	First *Read `json:"first,omitempty"`
	// last is what the device said when it was read most recently, On included.
	// +optional
	Last *Read `json:"last,omitempty"`
	// error says why the last read gave no answer, without secrets.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Error string `json:"error,omitempty"`
}

// DeviceRecord is what was asked of one device and what it said: of one that switches the
// machine's power, and of one that cuts the machine off from storage or network.
type DeviceRecord struct {
	// lastRead is the last answer of the device. Of one that cuts the machine off PoweredOn is
	// access, and PoweredOff is none.
	// +optional
	LastRead *Read `json:"lastRead,omitempty"`
	// offAt is when our last Off was intended, by the API server's clock.
	// +optional
	OffAt *Time `json:"offAt,omitempty"`
	// onAt is when our last On was intended, by the API server's clock.
	// +optional
	OnAt *Time `json:"onAt,omitempty"`
	// effectUntil is the last moment at which a call of ours may still take effect (S8).
	// +optional
	EffectUntil *Time `json:"effectUntil,omitempty"`
	// switchedByUs says that an Off was intended after a read of on. Only then does nodefence
	// switch it on, or give access back (S12).
	// +optional
	SwitchedByUs bool `json:"switchedByUs,omitempty"`
	// notBefore is when the next call may be made: an early wake-up makes no earlier call.
	// +optional
	NotBefore *Time `json:"notBefore,omitempty"`
	// lastError is the device's last failure, in words, without secrets.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	LastError string `json:"lastError,omitempty"`
}

// PowerRecord is what was asked of the device and what it said.
type PowerRecord struct {
	DeviceRecord `json:",inline"`
	// firstOff is the first of the two reads that make a proof.
	// +optional
	FirstOff *Read `json:"firstOff,omitempty"`
	// offCalls counts the Offs that were sent, or may have been.
	// +optional
	OffCalls int32 `json:"offCalls,omitempty"`
	// onCalls counts the Ons that were intended.
	// +optional
	OnCalls int32 `json:"onCalls,omitempty"`
	// supplyTries counts the Ons that were sent to a machine that reads on, for a supply
	// of it that is not.
	// +optional
	SupplyTries int32 `json:"supplyTries,omitempty"`
	// cuts is how many times this fence cut the power; an Off that is sent again
	// because it did nothing is one cut.
	// +optional
	Cuts int32 `json:"cuts,omitempty"`
	// cutAt is when this fence last cut the power, by the API server's clock.
	// +optional
	CutAt *Time `json:"cutAt,omitempty"`
	// level says which of the node's devices is spoken to now: a place in
	// status.decision.devices, from 0.
	// +optional
	Level int32 `json:"level,omitempty"`
	// cut are the places, from 0, of the devices that were told to cut the power and were
	// not seen on since.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Cut []int32 `json:"cut,omitempty"`
	// leaseFresh says that the Lease was still moving when the power was cut or first seen off,
	// so that a whole Lease renewal must pass between the two reads of the proof (S5).
	// +optional
	LeaseFresh bool `json:"leaseFresh,omitempty"`
	// denied are the devices that refused our account when they were asked last: after a few
	// refusals in a row a device is asked rarely, because it might lock the account.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Denied []Denied `json:"denied,omitempty"`
	// offError is what the device answered to the last Off, if it failed.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	OffError string `json:"offError,omitempty"`
	// rebootOver says that a reboot that another program had begun (rebootBegun of the device) is
	// over: the machine was on since. A machine that is found off later was switched off by
	// somebody else, and stays off (S12).
	// +optional
	RebootOver bool `json:"rebootOver,omitempty"`
}

// Denied is how often in a row one device has refused our account, and when it did last.
type Denied struct {
	// device is the driver and the address of the one that refused the account.
	// +kubebuilder:validation:MaxLength=4608
	// +required
	Device string `json:"device"`
	// count is how often in a row it refused.
	// +required
	Count int32 `json:"count"`
	// at is when it refused last, by the API server's clock.
	// +required
	At Time `json:"at"`
	// credentials is a digest of the resourceVersions of the Secrets and ConfigMaps from which the
	// account was read that it refused, and of nothing in them; empty if that is not known. If they
	// are written, the device is asked again once.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Credentials string `json:"credentials,omitempty"`
}

// AwaitedRecord is about a machine whose power was cut, or whose work was released, and whose
// device has not shown that it is off. It holds no slot, and no Off is sent for it: if the
// machine reads on again, the gate is asked first.
type AwaitedRecord struct {
	// since is when its tries were used up, by the API server's clock.
	// +required
	Since Time `json:"since"`
	// reason is the one word for how the last of them ended, of the closed list in
	// infra/crd/REASONS.md.
	// +required
	Reason Reason `json:"reason"`
	// message says it in a sentence, with the numbers, for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// disobeyed says that the device answers, and our Offs did nothing. A machine that then reads
	// on is given up.
	// +optional
	Disobeyed bool `json:"disobeyed,omitempty"`
}

// LeaseRecord is how the node's Lease was last seen.
type LeaseRecord struct {
	// renewed is the Lease's renewTime. It is compared only with the renewTime of a later look,
	// never with a clock (S30).
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Renewed string `json:"renewed,omitempty"`
	// stillSince is since when our looks have not seen it move.
	// +optional
	StillSince *Time `json:"stillSince,omitempty"`
}
