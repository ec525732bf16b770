package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// kinds are the places of Machines, by API group. For each group the first version that is
// served is used.
var kinds = [][]string{
	{"/apis/machine.openshift.io/v1beta1"},
	{"/apis/cluster.x-k8s.io/v1beta2", "/apis/cluster.x-k8s.io/v1beta1"},
}

// handsOff are annotations by which somebody reserves a Machine, with any value.
var handsOff = []string{"cluster.x-k8s.io/skip-remediation", "cluster.x-k8s.io/paused"}

// byPower has OpenShift's annotation for a Machine that is remediated by its power, and
// never by deletion.
const byPower, external = "machine.openshift.io/remediation-strategy", "external-baremetal"

// object is the part of a Machine that is used.
type object struct {
	Meta struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		UID         string            `json:"uid"`
		Version     string            `json:"resourceVersion"`
		Deleted     *string           `json:"deletionTimestamp"`
		Annotations map[string]string `json:"annotations"`
		Owners      []struct {
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			UID        string `json:"uid"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
	path string
}

// find returns the one Machine of the instance; nil if there is none.
func (m *machine) find(ctx context.Context) (*object, error) {
	var found []*object
	for _, versions := range kinds {
		for _, at := range versions {
			raw, err := m.cluster.Get(ctx, at+"/machines")
			if errors.Is(err, device.ErrNotServed) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("list Machines: %w", err)
			}
			mine, err := m.among(raw, at)
			if err != nil {
				return nil, err
			}
			found = append(found, mine...)
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, m.errorf(device.ErrConflict, fmt.Sprintf("%d Machines have it, %s and %s among them; it is not clear which one is meant", len(found), found[0].path, found[1].path))
}

// among returns the Machines in a list that belong to the instance.
func (m *machine) among(raw []byte, at string) ([]*object, error) {
	var all struct {
		Items []*object `json:"items"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, m.errorf(device.ErrUnreachable, "the answer is no list of Machines")
	}
	var mine []*object
	for _, o := range all.Items {
		if o.Spec.ProviderID != m.id {
			continue
		}
		if o.Meta.UID == "" || o.Meta.Name == "" || o.Meta.Namespace == "" {
			return nil, m.errorf(device.ErrUnreachable, "a Machine has no name or UID")
		}
		o.path = at + "/namespaces/" + o.Meta.Namespace + "/machines/" + o.Meta.Name
		mine = append(mine, o)
	}
	return mine, nil
}

// mayGo says why a Machine is not deleted.
func (m *machine) mayGo(o *object) error {
	for _, a := range handsOff {
		if _, is := o.Meta.Annotations[a]; is {
			return m.errorf(device.ErrConflict, "Machine "+o.name()+" has the annotation "+a)
		}
	}
	if o.Meta.Annotations[byPower] == external {
		return m.errorf(device.ErrConflict, "Machine "+o.name()+" has the annotation "+byPower+"="+external+": it is switched off by its BMC, and not deleted")
	}
	for _, w := range o.Meta.Owners {
		if w.Controller && w.UID != "" {
			return nil
		}
	}
	return m.errorf(device.ErrConflict, "Machine "+o.name()+" has no owner that controls it: nobody would make another one in its place")
}

func (o *object) name() string { return o.Meta.Namespace + "/" + o.Meta.Name }

func (m *machine) errorf(word error, why string) error {
	return fmt.Errorf("%w: instance %s: %s", word, m.id, strings.Join(strings.Fields(why), " "))
}
