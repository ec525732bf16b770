package v1alpha1

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Role is what a device does to a machine.
// +kubebuilder:validation:Enum=Power;Storage;Network
type Role string

// The roles.
const (
	// RolePower switches the machine's power.
	RolePower Role = "Power"
	// RoleStorage and RoleNetwork cut it off from its storage, and from its network.
	RoleStorage Role = "Storage"
	RoleNetwork Role = "Network"
)

// Binding is one device of status.decision.devices. No secret is in it (S29).
type Binding struct {
	// name is its role and its place among those of the role, from 1: power-1 is what
	// switches the machine, power-2 the next level, storage-1 the first that cuts it off
	// from storage.
	// +kubebuilder:validation:MaxLength=32
	// +required
	Name string `json:"name"`
	// role is what it does to the machine: Power switches it, Storage and Network cut it
	// off from these while it runs on.
	// +required
	Role Role `json:"role"`
	// driver is what speaks with it.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Driver string `json:"driver"`
	// address is the outlet or machine in the driver's one spelling (S11).
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Address string `json:"address"`
	// params are the driver's parameters, without the secret ones.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Params map[string]string `json:"params,omitempty"`
	// secrets says where each secret parameter is read when it is needed.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Secrets map[string]SecretRef `json:"secrets,omitempty"`
	// effectDelay is the longest time between an accepted call and its effect (S8).
	// +optional
	EffectDelay metav1.Duration `json:"effectDelay,omitempty"`
	// lead is how long the device may read off before the machine is off: after our own
	// Off the second read of a proof comes no earlier (S5). Where it is missing, 5s.
	// +optional
	Lead *metav1.Duration `json:"lead,omitempty"`
	// identity is what the machine said of itself while it was healthy.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Identity string `json:"identity,omitempty"`
	// tells says that the device has told this identity before; an answer without one is refused.
	// +optional
	Tells bool `json:"tells,omitempty"`
	// leaveOff says that the node's configuration has no method that switches the machine on, or
	// gives back what this device cuts, so that it stays off whatever the policy says.
	// +optional
	LeaveOff bool `json:"leaveOff,omitempty"`
	// kdump says that the node's configuration asks for its dump to be waited for.
	// +optional
	Kdump bool `json:"kdump,omitempty"`
	// must says that the fence goes no further before this device is seen to cut.
	// +optional
	Must bool `json:"must,omitempty"`
	// covers is the storage that it cuts off.
	// +optional
	Covers *Coverage `json:"covers,omitempty"`
	// members are the devices of a set (driver set), at most 8: the machine is off when
	// each of them is.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Members []SetMember `json:"members,omitempty"`
	// sources are the ConfigMaps that it came from, with resourceVersion.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Sources []string `json:"sources,omitempty"`
}

// Words name a device to people.
func (b *Binding) Words() string { return b.Driver + " " + b.Address }

// Scope is its role as a FenceTarget has it: none is power.
func (b *Binding) Scope() Scope {
	if b.Role == RolePower {
		return ""
	}
	return Scope(b.Role)
}

// SetMember is one device of a set. Its fields are a device's.
type SetMember struct {
	// driver is what speaks with it.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Driver string `json:"driver"`
	// address is the outlet or machine in the driver's one spelling (S11).
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Address string `json:"address"`
	// params are the driver's parameters, without the secret ones.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Params map[string]string `json:"params,omitempty"`
	// secrets says where each secret parameter is read when it is needed.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Secrets map[string]SecretRef `json:"secrets,omitempty"`
	// identity is what the machine said of itself while it was healthy.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Identity string `json:"identity,omitempty"`
}

// Binding is the member as if it were alone.
func (m SetMember) Binding() *Binding {
	return &Binding{Role: RolePower, Driver: m.Driver, Address: m.Address, Params: m.Params, Secrets: m.Secrets, Identity: m.Identity}
}

// SecretRef is a key of a Secret, or of a ConfigMap where a person left one.
type SecretRef struct {
	// secret is the name of the Secret.
	// +optional
	Secret string `json:"secret,omitempty"`
	// configMap is the name of the ConfigMap.
	// +optional
	ConfigMap string `json:"configMap,omitempty"`
	// key is the key in it.
	// +required
	Key string `json:"key"`
}

// Named gives each device its name. What has no role switches the machine's power.
func Named(devices ...Binding) []Binding {
	places := map[Role]int{}
	for i := range devices {
		b := &devices[i]
		if b.Role == "" {
			b.Role = RolePower
		}
		places[b.Role]++
		b.Name = fmt.Sprintf("%s-%d", strings.ToLower(string(b.Role)), places[b.Role])
	}
	return devices
}

// PowerLevels are the devices that switch the machine, in order of level. It may be
// written to.
func (d *Decision) PowerLevels() []Binding { return d.Devices[:d.levels()] }

// Isolation are the devices that cut the machine off from storage or network, in the
// order in which they do. It may be written to.
func (d *Decision) Isolation() []Binding { return d.Devices[d.levels():] }

// levels are the devices that switch the machine: they stand first.
func (d *Decision) levels() int {
	for i := range d.Devices {
		if d.Devices[i].Role != RolePower {
			return i
		}
	}
	return len(d.Devices)
}

// Power is the device of a level, from 0, and the first where there is no such level;
// nil if nothing switches the machine.
func (d *Decision) Power(level int32) *Binding {
	switch levels := d.PowerLevels(); {
	case len(levels) == 0:
		return nil
	case level > 0 && int(level) < len(levels):
		return &levels[level]
	default:
		return &levels[0]
	}
}

// Device is the one of that name; nil if there is none.
func (d *Decision) Device(name string) *Binding {
	for i := range d.Devices {
		if d.Devices[i].Name == name {
			return &d.Devices[i]
		}
	}
	return nil
}
