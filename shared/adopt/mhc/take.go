package mhc

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The bounds of a FencePolicy's schema.
const (
	mostConditions  = 32
	mostLabels      = 32
	mostExpressions = 16
	mostValues      = 32
	longestType     = 316
	longestWait     = 24 * time.Hour
	shortestStartup = time.Minute
)

// take fills in what follows from spec.
func (c *Check) take(is common) (err error) {
	if c.Selector, err = selectorOf(is.selector, is.clusterName); err != nil {
		return err
	}
	if c.Conditions, err = conditionsOf(is.conditions, is.names); err != nil {
		return err
	}
	if c.Limit, err = limitOf(c.Group(), is); err != nil {
		return err
	}
	if is.startup != 0 && (is.startup < shortestStartup || is.startup > longestWait || is.startup%time.Second != 0) {
		return refused(is.names.startup, "%s can't be kept: write whole seconds from %s to %s, or 0", is.startup, shortestStartup, longestWait)
	}
	c.Startup = is.startup
	return nil
}

// selectorOf is the selector of its Machines. A cluster's name is one more label.
func selectorOf(s metav1.LabelSelector, cluster string) (api.LabelSelector, error) {
	const field = "spec.selector"
	if cluster != "" {
		s = *metav1.CloneSelectorAndAddLabel(&s, clusterLabel, cluster)
	}
	if _, err := metav1.LabelSelectorAsSelector(&s); err != nil {
		return api.LabelSelector{}, refused(field, "can't be read: %v", err)
	}
	expressions := mostExpressions
	if cluster == "" {
		expressions-- // one more is added to OpenShift's
	}
	if len(s.MatchLabels) > mostLabels || len(s.MatchExpressions) > expressions {
		return api.LabelSelector{}, refused(field, "has more than %d labels (a cluster's name is one) or %d expressions", mostLabels, expressions)
	}
	to := api.LabelSelector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		if len(e.Values) > mostValues {
			return to, refused(field, "has an expression with more than %d values", mostValues)
		}
		to.MatchExpressions = append(to.MatchExpressions, api.LabelRequirement{Key: e.Key, Operator: e.Operator, Values: e.Values})
	}
	return to, nil
}

// conditionsOf are the conditions, each type and status once: of two the shorter one decides, as
// any one suffices.
func conditionsOf(all []condition, are names) (to []api.UnhealthyCondition, err error) {
	if len(all) == 0 {
		return nil, refused(are.conditions, "is empty, and a FencePolicy needs a condition: write Ready, Unknown and a %s at least", are.timeout)
	}
	for i, c := range all {
		if err := c.check(fmt.Sprintf("%s[%d]", are.conditions, i), are.timeout); err != nil {
			return nil, err
		}
		at := slices.IndexFunc(to, func(o api.UnhealthyCondition) bool { return o.Type == c.typ && o.Status == c.status })
		switch {
		case at < 0:
			to = append(to, api.UnhealthyCondition{Type: c.typ, Status: c.status, Duration: api.DurationOf(c.timeout)})
		case c.timeout < to[at].Duration.Get():
			to[at].Duration = api.DurationOf(c.timeout)
		}
	}
	if len(to) > mostConditions {
		return nil, refused(are.conditions, "has %d conditions, and a FencePolicy has room for %d", len(to), mostConditions)
	}
	return to, nil
}

// check refuses a condition that a FencePolicy can't have.
func (c condition) check(field, timeout string) error {
	status := metav1.ConditionStatus(c.status)
	switch {
	case c.typ == "" || len(c.typ) > longestType:
		return refused(field+".type", "has no letter, or more than %d", longestType)
	case !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, status):
		return refused(field+".status", "%.80q is no status of a condition: write True, False or Unknown", c.status)
	case c.typ == "Ready" && status == metav1.ConditionTrue:
		return refused(field, "Ready and True would make every healthy node unhealthy: write False or Unknown")
	case c.timeout < 0 || c.timeout > longestWait || c.timeout%time.Second != 0:
		return refused(field+"."+timeout, "%s can't be kept: write whole seconds, up to %s", c.timeout, longestWait)
	}
	return nil
}
