package plan

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Checked is the FenceTarget's statement about one device.
type Checked struct {
	Device string `json:"device"`
	// Reason is DeviceAnswers if the device is in order, and NotCheckedYet if it was not
	// read with its present configuration.
	Reason  api.Reason `json:"reason"`
	Message string     `json:"message,omitempty"`
	At      *api.Time  `json:"at,omitempty"`
}

// fails: the device is known to be unusable.
func (c Checked) fails() bool {
	return !slices.Contains([]api.Reason{api.DeviceAnswers, api.NotCheckedYet, api.ManualOnly}, c.Reason)
}

// checked copies what the FenceTarget says of these devices; t is nil if there is none.
func (r *Report) checked(t *api.FenceTarget, devices []api.Binding) {
	for _, b := range devices {
		c := Checked{Device: b.Words(), Reason: api.NotCheckedYet, Message: "it was not read yet as it is configured now"}
		if t != nil {
			for _, d := range t.Status.Devices {
				if d.Driver == b.Driver && d.Address == b.Address && d.Role == b.Role && d.LastChecked != nil {
					c.Reason, c.Message, c.At = d.Reason, d.Message, d.LastChecked
				}
			}
		}
		r.Checked = append(r.Checked, c)
	}
}

// broken: a device of the node is known to be unusable, and no fence of the node is under
// way.
func (r *Report) broken() string {
	for _, c := range r.Checked {
		if c.fails() && !r.UnderWay {
			return c.Device + ": " + string(c.Reason) + ": " + c.Message
		}
	}
	return ""
}

func (c Checked) words() string {
	at := ""
	if c.At != nil {
		at = ", read at " + c.At.UTC().Format(time.RFC3339)
	}
	words := fmt.Sprintf("%s: %s%s", c.Device, c.Reason, at)
	if c.Message != "" {
		words += ": " + c.Message
	}
	return words
}

// noNode names the nodes that exist, those with a similar name first.
func (w *world) noNode(name string) error {
	var all []string
	for i := range w.lists.Nodes {
		all = append(all, w.lists.Nodes[i].Name)
	}
	return view.NoSuchNode(name, all)
}
