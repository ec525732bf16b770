package mhc

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// The condition of a MachineHealthCheck, and its reasons. The first three words are those of its API.
const (
	remediationAllowed = "RemediationAllowed"
	tooManyUnhealthy   = "TooManyUnhealthy"
	// CannotBeMapped: a field has no counterpart here, and nothing follows from the object.
	CannotBeMapped = "CannotBeMapped"
)

// NewStatus are the fields of its status that are to be written, as its own controller writes them in
// this version; nil if it has them. observedGeneration is not among them: by that one sees that
// Cluster API's own controller handles an object.
func (c *Check) NewStatus(n Count, now time.Time) map[string]any {
	is := map[string]any{
		"expectedMachines": float64(n.Expected), "currentHealthy": float64(n.Healthy), "remediationsAllowed": float64(n.Further()),
	}
	if c.Group() == ClusterAPI {
		names := []any{}
		for _, name := range n.Names {
			names = append(names, name)
		}
		is["targets"] = names
	}
	if n.Allowed() {
		is["conditions"] = c.conditions("True", "", "", now)
	} else {
		is["conditions"] = c.conditions("False", tooManyUnhealthy, c.TooMany(n), now)
	}
	return c.changed(is)
}

// RefusedStatus is NewStatus of one that is refused.
func (c *Check) RefusedStatus(why error, now time.Time) map[string]any {
	return c.changed(map[string]any{
		"remediationsAllowed": float64(0),
		"conditions":          c.conditions("False", CannotBeMapped, why.Error(), now),
	})
}

// changed are the fields as they are, if one of them differs from what the object has.
func (c *Check) changed(is map[string]any) map[string]any {
	for field, value := range is {
		has := c.Status[field]
		if list, isList := value.([]any); isList && len(list) == 0 && has == nil {
			continue
		}
		if !equality.Semantic.DeepEqual(has, value) {
			return is
		}
	}
	return nil
}

// conditions are those that the object has, with this one in the form of its version: v1beta2 has
// Kubernetes' own form, and the others have a severity, and neither reason nor message where all is
// well.
func (c *Check) conditions(status, reason, message string, now time.Time) []any {
	is := map[string]any{"type": remediationAllowed, "status": status}
	newer := strings.HasSuffix(c.APIVersion, "/v1beta2")
	switch {
	case newer && status == "True":
		is["reason"], is["message"] = remediationAllowed, ""
	case newer:
		is["reason"], is["message"] = reason, message
	case status != "True":
		is["reason"], is["message"], is["severity"] = reason, message, "Warning"
	}
	if newer {
		is["observedGeneration"] = float64(c.Generation)
	}
	has, _ := c.Status["conditions"].([]any)
	at := slices.IndexFunc(has, func(o any) bool { return field(o, "type") == remediationAllowed })
	is["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
	all := slices.Clone(has)
	if at < 0 {
		return append(all, is)
	}
	if old := all[at].(map[string]any); old["status"] == status {
		is["lastTransitionTime"] = old["lastTransitionTime"]
		if _, had := old["message"]; !had && is["message"] == "" {
			delete(is, "message") // the API server may leave an empty one out
		}
	}
	all[at] = maps.Clone(is)
	return all
}

func field(object any, name string) any {
	o, _ := object.(map[string]any)
	return o[name]
}
