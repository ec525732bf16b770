package functions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/functions/gate"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
)

// agents are the ClusterLabs agents whose devices a driver of ours talks to, by
// the agent's name.
var agents = map[string]string{
	"fence_ipmilan": "ipmi", "fence_ilo3": "ipmi", "fence_ilo4": "ipmi", "fence_ilo5": "ipmi",
	"fence_idrac": "ipmi", "fence_imm": "ipmi", "ipmi": "ipmi",
}

// aliases are the agents' older names of parameters.
var aliases = map[string]string{
	"ipaddr": "ip", "login": "username", "user": "username", "passwd": "password", "privlvl": "privilege", "port": "plug",
}

// bindings resolves and opens the devices of nodes.
type bindings struct{ Parts }

func (p Parts) bindings() bindings { return bindings{p} }

func (b bindings) settings() config.Settings {
	return config.Settings{Kinds: b.Drivers, Agents: agents, Aliases: aliases}
}

// Bind says which device switches a node, from its ConfigMaps and its
// enrolment. What is wrong in them is a gate.Refused; anything else is a failure
// to read them.
func (b bindings) Bind(ctx context.Context, n *corev1.Node) (*api.Binding, error) {
	stored, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	node := config.Node{Name: n.Name, Type: n.Labels["type"]}
	maps := make([]config.ConfigMap, 0, len(stored))
	for _, cm := range stored {
		if cm.Name == kube.EnrolledName(n.Name) && cm.Data["node_uid"] == string(n.UID) {
			node.Identity = cm.Data["system_uuid"]
		}
		if cm.Labels[kube.EnrolledLabel] == "" {
			maps = append(maps, config.ConfigMap{Name: cm.Name, ResourceVersion: cm.ResourceVersion, Data: cm.Data})
		}
	}
	plan, err := config.Resolve(maps, node, b.settings())
	if err == nil {
		err = config.Duplicates(maps, b.settings(), node, plan.Binding)
	}
	if err != nil {
		return nil, &gate.Refused{Err: err}
	}
	return &plan.Binding, nil
}

// Open reads the credentials of a binding, now, and opens its driver. They are
// kept nowhere (S29).
func (b bindings) Open(ctx context.Context, bound *api.Binding) (device.Driver, error) {
	kind, ok := b.Drivers[bound.Driver]
	if !ok {
		return nil, fmt.Errorf("driver %q is not in this build", bound.Driver)
	}
	params, err := config.Credentials(*bound, func(ref api.SecretRef) (string, error) { return b.secret(ctx, ref) })
	if err != nil {
		return nil, err
	}
	return kind.Open(params)
}

// secret reads one value where a SecretRef points.
func (b bindings) secret(ctx context.Context, ref api.SecretRef) (string, error) {
	if ref.Secret == "" {
		return b.literal(ctx, ref)
	}
	s, err := b.Client.Secret(ctx, b.SecretsNamespace, ref.Secret)
	if err != nil {
		return "", err
	}
	if s == nil {
		return "", fmt.Errorf("secret %s/%s does not exist", b.SecretsNamespace, ref.Secret)
	}
	v, ok := s.Data[ref.Key]
	if !ok {
		return "", fmt.Errorf("secret %s/%s has no key %s", b.SecretsNamespace, ref.Secret, ref.Key)
	}
	return string(v), nil
}

func (b bindings) literal(ctx context.Context, ref api.SecretRef) (string, error) {
	cm, err := b.Client.ConfigMap(ctx, b.Namespace, ref.ConfigMap)
	if err != nil {
		return "", err
	}
	if cm == nil {
		return "", fmt.Errorf("ConfigMap %s/%s does not exist", b.Namespace, ref.ConfigMap)
	}
	return config.Literal(config.ConfigMap{Name: cm.Name, Data: cm.Data}, ref.Key)
}
