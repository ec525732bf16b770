package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Kinds are nodefence's own kinds, as the API server names them.
var Kinds = []string{"nodefences", "fencepolicies", "fencebudgets", "fenceledgers", "fencetargets", "fencerequests", "fencerequesttemplates", "nodeproblempolicies", "fenceacts", "fencereports"}

// ownKeys begin the annotations that nodefence reads. Others are other programs', and may hold anything.
const ownKeys = "nodefence.io/"

// trimmed is a list as YAML, without what says nothing, without what others wrote to it, and of bound devices
// with harmless parameters alone.
func trimmed(raw []byte) ([]byte, error) {
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	for _, o := range list.Items {
		ofDevices(o)
		meta, _ := o["metadata"].(map[string]any)
		delete(meta, "managedFields")
		if notes, is := meta["annotations"].(map[string]any); is {
			maps.DeleteFunc(notes, func(key string, _ any) bool { return !strings.HasPrefix(key, ownKeys) })
		}
	}
	return yaml.Marshal(list.Items)
}

// ofDevices takes out of the parameters of bound devices, wherever they stand, what is not known to be harmless:
// they are those of ConfigMaps.
func ofDevices(x any) {
	switch x := x.(type) {
	case []any:
		for _, one := range x {
			ofDevices(one)
		}
	case map[string]any:
		for key, value := range x {
			params, are := value.(map[string]any)
			if !are || key != "params" {
				ofDevices(value)
				continue
			}
			for name := range params {
				if !harmless[strings.ToLower(name)] {
					params[name] = Redacted
				}
			}
		}
	}
}

// node is what counts of a Node: of its annotations those of nodefence.
func node(n *corev1.Node) map[string]any {
	notes := map[string]string{}
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, ownKeys) {
			notes[key] = value
		}
	}
	return map[string]any{
		"metadata": map[string]any{"name": n.Name, "uid": n.UID, "labels": n.Labels, "annotations": notes, "creationTimestamp": n.CreationTimestamp, "deletionTimestamp": n.DeletionTimestamp},
		"spec":     map[string]any{"taints": n.Spec.Taints, "unschedulable": n.Spec.Unschedulable, "providerID": n.Spec.ProviderID},
		"status":   map[string]any{"conditions": n.Status.Conditions, "addresses": n.Status.Addresses, "nodeInfo": n.Status.NodeInfo, "volumesAttached": n.Status.VolumesAttached},
	}
}

// ours tells whether an Event is nodefence's, or about one of its objects.
func ours(e *corev1.Event) bool {
	return strings.HasPrefix(e.InvolvedObject.APIVersion, "nodefence.io/") || strings.HasPrefix(e.ReportingController, "nodefence") ||
		strings.HasPrefix(e.Source.Component, "nodefence") || e.InvolvedObject.Kind == "Node"
}

// event is what counts of an Event.
func event(e *corev1.Event) map[string]any {
	return map[string]any{
		"about": e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, "type": e.Type, "reason": e.Reason, "message": e.Message, "count": e.Count,
		"first": e.FirstTimestamp, "last": e.LastTimestamp, "at": e.EventTime, "by": e.ReportingController + e.Source.Component,
	}
}

// pod is what counts of a Pod of nodefence: neither its environment nor its volumes.
func pod(p *corev1.Pod) map[string]any {
	images := map[string]string{}
	for _, c := range p.Spec.Containers {
		images[c.Name] = c.Image
	}
	return map[string]any{"name": p.Name, "labels": p.Labels, "node": p.Spec.NodeName, "images": images, "phase": p.Status.Phase, "conditions": p.Status.Conditions, "containers": p.Status.ContainerStatuses}
}
