package v1alpha1

// OutOfServiceValue is a value of Kubernetes' out-of-service taint (KEP-2268).
// +kubebuilder:validation:Enum=nodeshutdown;hardwarefailure
type OutOfServiceValue string

// The values. Kubernetes treats both alike; people and other controllers may not.
const (
	NodeShutdown    OutOfServiceValue = "nodeshutdown"
	HardwareFailure OutOfServiceValue = "hardwarefailure"
)

// OutOfServiceAs is the value with which this fence releases: the one that it has
// asked for already, the word of the person who confirmed, or nodeshutdown.
func (f *NodeFence) OutOfServiceAs() OutOfServiceValue {
	switch c := f.Requests().ConfirmOff; {
	case f.Status.Placed.OutOfServiceAs != "":
		return f.Status.Placed.OutOfServiceAs
	case c != nil && c.OutOfServiceValue != "":
		return c.OutOfServiceValue
	}
	return NodeShutdown
}
