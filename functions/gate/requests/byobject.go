package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// objectNamed returns the FenceRequest that an event names; nil if it names none. Kubernetes decided who may
// ask when the object was created (S20). So the gate reads the object, and believes nothing else of the event,
// which anybody may have sent (S18).
func objectNamed(e event.Event) *events.ObjectReference {
	if e.Type() != events.RequestFence {
		return nil
	}
	body, err := events.ReadRequest(e)
	if err != nil {
		return nil // examine says what is wrong with it
	}
	return body.FenceRequest
}

// requestByObject answers a FenceRequest: a fence opens, or the open fence answers too. A refusal is also
// written into the object.
func (j *Judge) requestByObject(ctx context.Context, e event.Event, node string, n *corev1.Node, named events.ObjectReference, f *api.NodeFence) (a Answer, err error) {
	policies, err := j.Client.Policies(ctx) // a refusal is for good
	if err != nil {
		return a, err
	}
	o, refused, err := j.objectOf(ctx, named, node)
	if err != nil {
		return a, err
	}
	var r *api.AskedBy
	if quiet := false; refused == nil {
		e = inItsName(e, o)
		if r, refused, quiet = j.judgeObject(e, o, n, policies, f); quiet {
			j.logIgnored(e, node, string(refused.why)+": "+refused.message)
			return a, nil
		}
	}
	switch {
	case refused != nil:
		j.refuse(ctx, e, node, n, refused)
		return a, j.tellObject(ctx, o, refused)
	case f != nil && f.Open():
		return a, j.joinFence(ctx, e, n, f, r)
	}
	resolved, _ := policy.ResolvePolicy(policies, n.Name, n.Labels)
	return Answer{Opens: forRequest(api.TriggerRequest, n, r, resolved), Object: o}, nil
}

// objectOf reads the FenceRequest that an event names. The FenceRequest is read after the node's record: a
// withdrawal before that read is seen, and a withdrawal after it makes the write of the record fail (package
// ask). A forged event that is wrong about an object is no reason to refuse the object.
func (j *Judge) objectOf(ctx context.Context, named events.ObjectReference, node string) (*api.FenceRequest, *no, error) {
	if !j.Namespaces.Has(named.Namespace) {
		return nil, &no{api.SourceNotBelieved, fmt.Sprintf("FenceRequests of namespace %.80q do not count (NODEFENCE_REQUEST_NAMESPACES)", named.Namespace)}, nil
	}
	if len(validation.IsDNS1123Subdomain(named.Name)) > 0 { // it becomes part of a path
		return nil, &no{api.SourceNotBelieved, fmt.Sprintf("%.80q is not the name of a FenceRequest", named.Name)}, nil
	}
	o, err := j.Client.FenceRequest(ctx, named.Namespace, named.Name)
	switch {
	case err != nil:
		return nil, nil, err
	case o == nil || string(o.UID) != named.UID:
		return nil, &no{api.RequestWithdrawn, fmt.Sprintf("there is no FenceRequest %s/%s of UID %.80q", named.Namespace, named.Name, named.UID)}, nil
	}
	is, err := ask.Node(o)
	switch {
	case errors.Is(err, ask.ErrOfMachine):
		return nil, &no{api.NotYet, "the function request has not looked up its Machine yet, and asks then"}, nil
	case err != nil:
		return o, &no{api.NamesDiffer, err.Error()}, nil
	case is != node:
		return nil, &no{api.SourceNotBelieved, fmt.Sprintf("FenceRequest %s/%s is about node %s", o.Namespace, o.Name, is)}, nil
	}
	return o, nil, nil
}

// inItsName returns an event with the name and the age of its FenceRequest. A FenceRequest is served once by
// its UID, whatever event names it (S7).
func inItsName(e event.Event, o *api.FenceRequest) event.Event {
	e = e.Clone()
	e.SetID(string(o.UID))
	e.SetSource(ask.Source(o))
	e.SetTime(o.CreationTimestamp.UTC())
	return e
}

// judgeObject returns who asks by a FenceRequest, or why the FenceRequest opens or joins no fence. quiet says
// that the refusal is not written into the object: the object has been answered, or is not held yet.
func (j *Judge) judgeObject(e event.Event, o *api.FenceRequest, n *corev1.Node, policies []api.FencePolicy, f *api.NodeFence) (r *api.AskedBy, refused *no, quiet bool) {
	now := j.Client.Clock().Now()
	r = askedBy(e, now)
	switch {
	case ask.Ended(o) || o.Status.NodeFence.FenceNumber > 0 || f != nil && r != nil && f.Served(r):
		return nil, &no{api.RequestServedAlready, "FenceRequest " + o.Namespace + "/" + o.Name + " has been answered already"}, true
	case ask.Withdrawn(o) != "":
		return nil, &no{api.RequestWithdrawn, ask.Withdrawn(o)}, true // the function request says so in the object
	case !ask.Held(o):
		return nil, &no{api.NotYet, "the function request has not taken it up yet, and asks then"}, true
	}
	if endsUnanswered(f, n) && tooOld(e, now) == "" {
		return nil, &no{api.NotYet, "the fence of a request that was withdrawn, or grew old, ends first, and the function request asks again then"}, true
	}
	if refused := refuseReplaced(o, n); refused != nil {
		return nil, refused, false
	}
	if refused := refuseUnserved(e, r, "", n, policies, f, lastAnswer(f), ask.OfMachine(o) != nil, now); refused != nil {
		return nil, refused, false
	}
	r.User, r.Reason, r.Drain = clip.To(longestWords, ask.User(o)), clip.To(longestReason, o.Spec.Reason), o.Spec.Drain
	return r, nil, false
}

// endsUnanswered tells whether the open fence of a Node is about to end without an answer to later
// FenceRequests (lastAnswer).
func endsUnanswered(f *api.NodeFence, n *corev1.Node) bool {
	return n != nil && f != nil && f.Open() && (f.EndedByWithdrawal() || f.ExpiredUncut()) && fence.Ends(f, n.UID) != ""
}

// refuseReplaced refuses a Node that is not the Node that was asked for (S6: what is released is what was
// fenced).
func refuseReplaced(o *api.FenceRequest, n *corev1.Node) *no {
	if n == nil {
		return nil // which is refused for that
	}
	if why := ask.Replaced(o, n.UID); why != "" {
		return &no{api.NoSuchNode, why}
	}
	return nil
}

// lastAnswer returns the end of the last fence of a node that answers all earlier FenceRequests. The fence of a
// FenceRequest that was withdrawn, or grew old uncut, answers no other FenceRequest: NodeHealthCheck gives a
// FenceRequest up and creates the next one before the fence has ended. The time is truncated to a second, as
// the creationTimestamp of an object is: a FenceRequest that was created in that second, after the end, must
// not be refused for good. Each FenceRequest is served once by its UID (S7).
func lastAnswer(f *api.NodeFence) *api.Time {
	if f == nil || f.LastAnswer() == nil {
		return nil
	}
	second := metav1.NewMicroTime(f.LastAnswer().Truncate(time.Second))
	return &second
}

// StillAsked reads a FenceRequest again after the first record of its node was created. Before that, no record
// existed whose write a withdrawal could make fail (S17).
func (j *Judge) StillAsked(ctx context.Context, o *api.FenceRequest) (bool, error) {
	is, err := j.Client.FenceRequest(ctx, o.Namespace, o.Name)
	return is != nil && is.UID == o.UID && ask.Held(is) && ask.Withdrawn(is) == "", err
}

// tellObject writes into a FenceRequest why it is refused. After a conflict the event comes again, and the
// object is read again.
func (j *Judge) tellObject(ctx context.Context, o *api.FenceRequest, why *no) error {
	if o == nil || ask.Ended(o) {
		return nil
	}
	before := o.Status
	o.Status = ask.Refused(o, why.why, why.message, j.Client.Clock().Now())
	o, err := j.Client.SaveFenceRequestStatus(ctx, o)
	if err == nil {
		j.Reporter.Remediated(ctx, report.Remediation{Function: function, Before: before, Request: o})
	}
	return err
}
