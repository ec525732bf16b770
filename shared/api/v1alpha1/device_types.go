package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// Cuts: the machine runs on, without its storage or network.
func (r Role) Cuts() bool { return r == RoleStorage || r == RoleNetwork }

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
	// driver is the name of the driver that speaks with it, such as ipmi.
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
	// secretRefs say where each secret parameter is read when it is needed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=parameter
	// +optional
	SecretRefs []SecretRef `json:"secretRefs,omitempty"`
	// effectDelay is the longest time between an accepted call and its effect (S8).
	// +optional
	EffectDelay metav1.Duration `json:"effectDelay,omitempty"`
	// lead is how long the device may already read off while the machine is still on. The second
	// read of a proof comes no earlier than that, whoever switched the machine off (S5). If it is
	// missing, it is 5s.
	// +optional
	Lead *metav1.Duration `json:"lead,omitempty"`
	// identity is what the device must say its machine is, where it can tell: what identity= of
	// its method gives, or what was enrolled while the machine was healthy.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Identity string `json:"identity,omitempty"`
	// identityFault says why identity is not this machine's alone, such as that another node has
	// it too. An answer with an identity is then refused. Empty: identity is the machine's.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	IdentityFault string `json:"identityFault,omitempty"`
	// tells says that the device has told this identity before; an answer without one is refused.
	// +optional
	Tells bool `json:"tells,omitempty"`
	// leaveOff says that the node's configuration has no method that switches the machine on, or
	// gives back what this device cuts, so that it stays off whatever the policy says.
	// +optional
	LeaveOff bool `json:"leaveOff,omitempty"`
	// kdump says that the node's configuration asks nodefence to wait for its dump.
	// +optional
	Kdump bool `json:"kdump,omitempty"`
	// must says that the fence does not continue before this device is seen to have cut the
	// machine off.
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
	// sources are the objects that it came from, as they were read.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Sources []ConfigSource `json:"sources,omitempty"`
	// adopted names the object of another project that gives this device, if one does. The Secrets
	// are then those that this object names, in its own namespace.
	// +optional
	Adopted *AdoptedDevice `json:"adopted,omitempty"`
}

// NoIdentity says in a sentence why no answer for a machine counts, and what to do; empty if
// the identity is the machine's.
func (b *Binding) NoIdentity(node string) string {
	if b.IdentityFault == "" {
		return ""
	}
	return "enrolled is " + b.Identity + ", which " + b.IdentityFault +
		"; see that the device is the node's, then write identity= into its method, or kubectl fence enrol " + node
}

// AdoptedDevice is an object of another project that gives a node's device.
type AdoptedDevice struct {
	// kind is the kind of the object: FenceAgentsRemediation, or its template.
	// +kubebuilder:validation:Enum=FenceAgentsRemediation;FenceAgentsRemediationTemplate
	// +required
	Kind string `json:"kind"`
	// namespace is the namespace of the object, and of the Secrets that it names.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
	// name is the name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// uid tells it from another one of its name.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +required
	UID types.UID `json:"uid"`
	// nodeName is the node for which the object was read.
	// +kubebuilder:validation:MaxLength=253
	// +required
	NodeName string `json:"nodeName"`
	// sharedSecretName is the Secret for all nodes that it names, in its own namespace. This one and
	// the next are also read once the object is gone.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SharedSecretName string `json:"sharedSecretName,omitempty"`
	// nodeSecretName is the Secret of this node alone; it wins over the shared one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	NodeSecretName string `json:"nodeSecretName,omitempty"`
	// rebootBegun says that the object asks for a reboot, and that by its own conditions the
	// program that it belongs to had begun that reboot. The program may have switched the machine
	// off, so the machine is switched on in the end (S12).
	// +optional
	RebootBegun bool `json:"rebootBegun,omitempty"`
}

// Words name a device to people.
func (b *Binding) Words() string { return b.Driver + " " + b.Address }

// SetMember is one device of a set. Its fields are a device's.
type SetMember struct {
	// driver is the name of the driver that speaks with it, such as ipmi.
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
	// secretRefs say where each secret parameter is read when it is needed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=parameter
	// +optional
	SecretRefs []SecretRef `json:"secretRefs,omitempty"`
	// identity is what the machine said of itself while it was healthy.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Identity string `json:"identity,omitempty"`
}

// Binding is the member as if it were alone.
func (m SetMember) Binding() *Binding {
	return &Binding{Role: RolePower, Driver: m.Driver, Address: m.Address, Params: m.Params, SecretRefs: m.SecretRefs, Identity: m.Identity}
}

// ConfigSource is an object that says how a machine is switched, as it was read.
type ConfigSource struct {
	// kind is the kind of the object: ConfigMap, or that of an object of another project.
	// +kubebuilder:validation:Enum=ConfigMap;FenceAgentsRemediation;FenceAgentsRemediationTemplate
	// +required
	Kind string `json:"kind"`
	// namespace is the namespace of the object: of a ConfigMap that of nodefence's own configuration.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// resourceVersion is the object's when it was read: if the object has another one now, it was
	// changed since.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// String is kind, namespace and name, and the version in brackets.
func (s ConfigSource) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return s.Kind + " " + name + " (resourceVersion " + s.ResourceVersion + ")"
}

// The kinds of object that configuration and secrets are read from.
const (
	KindConfigMap = "ConfigMap"
	KindSecret    = "Secret"
)

// SecretRef says where one secret parameter is: in a Secret of the namespace of devices' Secrets,
// or in the ConfigMap in which a person left it.
type SecretRef struct {
	// parameter is the driver's name for the parameter, such as password.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Parameter string `json:"parameter"`
	// kind is the kind of the object: Secret or ConfigMap, or that of an object of another project
	// in which a person left it.
	// +kubebuilder:validation:Enum=Secret;ConfigMap;FenceAgentsRemediation;FenceAgentsRemediationTemplate
	// +required
	Kind string `json:"kind"`
	// name is the name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// key is the key of its data; of a ConfigMap with the name of the line behind it, as
	// in method.properties/password; of an object of another project the field.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Key string `json:"key"`
}

// String is kind, name and key.
func (r SecretRef) String() string { return r.Kind + " " + r.Name + ", key " + r.Key }

// RefOf finds the SecretRef of a parameter.
func RefOf(refs []SecretRef, parameter string) (SecretRef, bool) {
	for _, r := range refs {
		if r.Parameter == parameter {
			return r, true
		}
	}
	return SecretRef{}, false
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

// DriverMachine is the name of the driver that ends a machine by the deletion of its Machine.
const DriverMachine = "machine"

// DeletesMachine tells whether the device, or one of its set, ends the machine by the deletion of
// its Machine.
func (b *Binding) DeletesMachine() bool {
	return b.Driver == DriverMachine || slices.ContainsFunc(b.Members, func(m SetMember) bool { return m.Driver == DriverMachine })
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
