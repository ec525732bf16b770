package ec2

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// NetworkKind declares the driver ec2-network, which cuts an instance off by its
// security groups.
func NetworkKind() device.Kind {
	k, own := Kind(), &account{}
	k.Name, k.Scope = "ec2-network", device.ScopeNetwork
	k.Params = append(slices.Clone(k.Params),
		// Not marked as required: a required parameter could be put into a Secret, where
		// the address could not read it.
		device.Param{Name: "group", Doc: "ID of the security group, sg-..., that lets nothing in or out, in the VPC of the machines"})
	// The API shows changes late: by seconds, according to AWS.
	k.EffectDelay = 30 * time.Second
	k.Address = func(p map[string]string) (string, error) {
		n, err := parseNetwork(p)
		if err != nil {
			return "", err
		}
		return "ec2-network:" + n.region + "/" + n.id, nil
	}
	k.Open = func(p map[string]string) (device.Driver, error) {
		n, err := parseNetwork(p)
		if err == nil {
			err = n.identify(p, own)
		}
		if err != nil {
			return nil, err
		}
		return n, nil
	}
	return k
}

func parseNetwork(p map[string]string) (*network, error) {
	i, err := parse(p)
	if err != nil {
		return nil, err
	}
	n := &network{instance: i, group: spelt(p["group"])}
	switch {
	case n.group == "":
		return nil, errors.New("group is missing; give the ID of the security group that lets nothing in or out")
	case !groupID.MatchString(n.group):
		return nil, fmt.Errorf("group %q is not the ID of a security group: sg- and 8 or 17 hexadecimal digits", p["group"])
	}
	return n, nil
}
