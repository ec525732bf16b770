package far

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// ConditionStatusValidation of a template is True once the device of each node of its sample was read
// on, with the template as it is now. It stays so until the spec changes.
const ConditionStatusValidation = "FenceAgentStatusValidationSucceeded"

// The reasons of that condition, in that project's words.
const (
	validationInProgress = "ValidationInProgress"
	validationSucceeded  = "ValidationSucceeded"
	validationFailed     = "ValidationFailed"
)

// SampledNode is what was seen of a node of a sample.
type SampledNode struct {
	// There: the Node exists. Asked: an object asks for its fence, and gives its device meanwhile.
	There, Asked bool
	// Target is its FenceTarget; nil if there is none.
	Target *api.FenceTarget
}

// readSince is how long after the change of a template a read ends at the earliest that was made by it
// for certain: a check has resolved and read the device within its turn. Two estimates of the API
// server's time lie less than the rest apart.
const readSince = api.CheckTurn + 5*time.Second

// Sample are the nodes of a template's sample: the first ones by name of those that the spec names.
// An error says that spec.statusValidationSample can't be read.
func Sample(t *Template) ([]string, error) {
	raw := bytes.TrimSpace(t.Spec.StatusValidationSample)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	spec := t.Spec.Template.Spec
	all := slices.Concat(Listed(spec), slices.Collect(maps.Keys(spec.NodeSecretNames)))
	slices.Sort(all)
	all = slices.Compact(all)
	var size intstr.IntOrString
	err := json.Unmarshal(raw, &size)
	n := 0
	if err == nil {
		n, err = intstr.GetScaledValueFromIntOrPercent(&size, len(all), true)
	}
	if err != nil || n < 0 {
		return nil, fmt.Errorf("parameters validation failed invalid value of StatusValidationSample: %s", clip.To(40, strings.Trim(string(raw), `"`)))
	}
	return all[:min(n, len(all))], nil
}

// Unvalidated are the nodes of a sample whose FenceTargets Validate wants to see: none once all have
// passed.
func Unvalidated(t *Template) []string {
	nodes, _ := Sample(t)
	if is, current := t.validation(); !current || is.Status == yes {
		return nil // no read counts that was made before a round has begun
	}
	listed := Listed(t.Spec.Template.Spec)
	return slices.DeleteFunc(nodes, func(node string) bool { return t.passed(node) || t.fault(node, listed) != "" })
}

// passed tells whether a node has passed with the spec as it is. Once all are known only those that
// failed are named.
func (t *Template) passed(node string) bool {
	is, current := t.validation()
	_, failed := t.Status.ValidationFailed[node]
	_, passed := t.Status.ValidationPassed[node]
	return current && (passed || is.Status == no && !failed)
}

// validation is the condition as it stands; current says that it is about the spec as it is now.
func (t *Template) validation() (is *metav1.Condition, current bool) {
	is = meta.FindStatusCondition(t.Status.Conditions, ConditionStatusValidation)
	return is, is != nil && is.ObservedGeneration == t.Generation
}

// Validate is a template's status after these nodes were seen. A round begins with each change of the
// spec, and ends when each node of the sample has passed or failed. A node that failed passes once its
// device is read on after all.
func Validate(t *Template, seen map[string]SampledNode, now time.Time) TemplateStatus {
	nodes, err := Sample(t)
	is, current := t.validation()
	switch {
	case current && is.Status == yes:
		return t.Status
	case err != nil:
		return t.validated(TemplateStatus{}, no, validationFailed, err.Error(), now)
	case len(nodes) == 0:
		return TemplateStatus{Conditions: slices.DeleteFunc(slices.Clone(t.Status.Conditions), func(c metav1.Condition) bool { return c.Type == ConditionStatusValidation })}
	}
	st := TemplateStatus{ValidationFailed: map[string]string{}, ValidationPassed: map[string]string{}}
	since := now
	if current {
		maps.Copy(st.ValidationFailed, t.Status.ValidationFailed)
		maps.Copy(st.ValidationPassed, t.Status.ValidationPassed)
		since = is.LastTransitionTime.Time
	}
	longest := min(clip.MessageBytes, max(leastFailure, longestFailures/len(nodes)))
	listed := Listed(t.Spec.Template.Spec)
	for _, node := range nodes {
		if t.passed(node) {
			continue
		}
		why, known := t.fault(node, listed), true
		if s, looked := seen[node]; why == "" {
			why, known = s.judge(node, since.Add(readSince))
			known = known && looked
		}
		switch {
		case !known:
		case why == "":
			delete(st.ValidationFailed, node)
			st.ValidationPassed[node] = "Success"
		default:
			st.ValidationFailed[node] = clip.To(longest, why)
		}
	}
	return t.summed(st, nodes, now)
}

// The failures of a sample take so many bytes in all, and each at least so many.
const longestFailures, leastFailure = 256 << 10, 64

// summed adds the condition. Once all nodes are known those that passed are not named any more.
func (t *Template) summed(st TemplateStatus, nodes []string, now time.Time) TemplateStatus {
	is, current := t.validation()
	failed := len(st.ValidationFailed)
	if open := len(nodes) - failed - len(st.ValidationPassed); open > 0 && !(current && is.Status == no) {
		return t.validated(st, unknown, validationInProgress, fmt.Sprintf("validating parameters for %d node(s)", len(nodes)), now)
	}
	st.ValidationPassed = nil
	if failed > 0 {
		return t.validated(st, no, validationFailed, fmt.Sprintf("parameters validation failed for %d node(s)", failed), now)
	}
	return t.validated(st, yes, validationSucceeded, "parameters validation succeeded", now)
}

// validated is a status with the condition, whose time is that of its round where it is Unknown.
func (t *Template) validated(st TemplateStatus, status metav1.ConditionStatus, reason, message string, now time.Time) TemplateStatus {
	is, current := t.validation()
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	if current && is.Status == status {
		at = is.LastTransitionTime
	}
	for i := range t.Status.Conditions {
		if c := t.Status.Conditions[i]; c.Type != ConditionStatusValidation {
			st.Conditions = append(st.Conditions, c)
		}
	}
	st.Conditions = append(st.Conditions, metav1.Condition{
		Type: ConditionStatusValidation, Status: status, Reason: reason, Message: message, ObservedGeneration: t.Generation, LastTransitionTime: at,
	})
	return st
}

// fault is why the spec gives a node no device that is read before an object asks for the node's fence;
// empty if it gives one.
func (t *Template) fault(node string, listed []string) string {
	if _, err := Read(t.Spec.Template.Spec, node); err != nil {
		return err.Error()
	}
	if _, is := slices.BinarySearch(listed, node); !is {
		return "not read: a node that nodeparameters do not list has no device before an object asks for its fence; list it there"
	}
	return ""
}

// judge says why a node fails, empty if it passes. known is false as long as neither is known: its
// device was not read since.
func (s SampledNode) judge(node string, since time.Time) (why string, known bool) {
	switch {
	case s.Target != nil && !s.Asked:
		return devicesSince(&s.Target.Status, metav1.NewMicroTime(since))
	case s.Target == nil && !s.There:
		return "not read: there is no node " + node, true
	}
	return "", false
}

// deniedRest says when a device that refused the account is read again.
const deniedRest = "; once mended it is read after an hour, or at once if you ask (annotation " + api.CheckNowAnnotation + " of the FenceTarget)"

// devicesSince says what is wrong with the devices that switch a node's machine, empty if they were
// all read on. What cuts off storage or network is not of a template.
func devicesSince(st *api.FenceTargetStatus, since api.Time) (why string, known bool) {
	counts := func(at *api.Time) bool { return at != nil && !at.Before(&since) }
	switches := false
	for _, d := range st.Devices {
		switch {
		case d.Role.Cuts():
			continue
		case d.Reason == api.DeviceDenied: // checks leave it alone now, so it counts whenever it was read
			return string(d.Reason) + ": " + d.Message + deniedRest, true
		case !counts(d.LastChecked):
			return "", false
		case d.Reason != api.DeviceAnswers:
			return string(d.Reason) + ": " + d.Message, true
		case d.State != api.PoweredOn:
			return "the device answers, and its status is not ON: " + string(d.State), true
		}
		switches = true
	}
	if switches {
		return "", true
	}
	c := meta.FindStatusCondition(st.Conditions, api.Fenceable)
	if c == nil || !counts(st.LastChecked) {
		return "", false
	}
	return c.Reason + ": " + c.Message, true
}
