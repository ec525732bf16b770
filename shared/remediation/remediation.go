package remediation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

const (
	// Holder is nodefence's name in the Lease.
	Holder = "nodefence"
	// Lasts is how long the Lease is nodefence's without a renewal.
	Lasts = 10 * time.Minute
	// renewAfter is the age at which it is renewed. Two renewals may fail.
	renewAfter = 3 * time.Minute
	// askAgain is when a fence that waits for the Lease looks at it again.
	askAgain = 5 * time.Second
)

// Cluster has the Leases, and the FenceRequests (nil for one that is not there). SaveLease and
// DeleteLease are compare-and-swaps by the resourceVersion.
type Cluster interface {
	LeaseIn(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error)
	SaveLease(ctx context.Context, l *coordinationv1.Lease) error
	DeleteLease(ctx context.Context, l *coordinationv1.Lease) error
	FenceRequest(ctx context.Context, namespace, name string) (*api.FenceRequest, error)
	// NodeHealthCheck is the object as the API server sends it; nil if there is none.
	NodeHealthCheck(ctx context.Context, name string) (json.RawMessage, error)
}

// Leases are those of one namespace. A nil one keeps nobody away, and waits for nobody. It must
// not be copied after first use.
type Leases struct {
	Cluster   Cluster
	Namespace string
	// Now is the API server's time, which others read in the Lease.
	Now func() time.Time
	// Elapsed is the time by which a Lease of somebody else is seen to stand still.
	Elapsed func() time.Duration
	// Conflict is the Cluster's error for a Lease that somebody else has written.
	Conflict error

	mu   sync.Mutex
	seen map[string]sight
}

// sight is a Lease as it was last seen to move.
type sight struct {
	mark  string
	since time.Duration
}

// Take makes the Lease nodefence's, or says for whom the fence waits.
func (l *Leases) Take(ctx context.Context, f *api.NodeFence) (*observed.Verdict, error) {
	if l == nil {
		return nil, nil
	}
	node := f.Spec.NodeName
	was, err := l.Cluster.LeaseIn(ctx, l.Namespace, nameOf(node))
	if err == nil {
		if asks, err := l.asksForIt(ctx, f, was); asks || err != nil {
			return nil, err
		}
		if v := l.waits(node, was); v != nil {
			free, err := l.onlyAsksUs(ctx, node, was)
			if free || err != nil {
				return nil, err
			}
			return v, nil
		}
		err = l.Cluster.SaveLease(ctx, l.ours(node, was))
	}
	switch {
	case errors.Is(err, l.Conflict):
		return &observed.Verdict{Reason: api.AnotherRemediator, Message: "somebody has just written " + l.named(node), Again: time.Second}, nil
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		// Without the Lease two programs might act on the node. So the fence waits, and says why.
		msg := l.named(node) + " can't be taken: " + err.Error() + ": create the namespace and the rights, or take NODEFENCE_REMEDIATION_LEASES away"
		return &observed.Verdict{Reason: api.AnotherRemediator, Message: msg, Again: facts.Resync}, nil
	}
	return nil, err
}

// Renew keeps a Lease that is nodefence's, if it is old enough. Where something is done to the node
// (acts), it also takes one that nobody holds. One that went to somebody else stays there.
func (l *Leases) Renew(ctx context.Context, node string, acts bool) error {
	if l == nil {
		return nil
	}
	was, err := l.Cluster.LeaseIn(ctx, l.Namespace, nameOf(node))
	free := was == nil || holderOf(was) == ""
	if err != nil || free && !acts || !free && !isOurs(was) {
		return err
	}
	if !free && was.Spec.RenewTime != nil && l.Now().Sub(was.Spec.RenewTime.Time) < renewAfter {
		return nil
	}
	if err := l.Cluster.SaveLease(ctx, l.ours(node, was)); err != nil && !errors.Is(err, l.Conflict) {
		return fmt.Errorf("renew %s: %w", l.named(node), err)
	}
	return nil
}

// GiveBack deletes a Lease that is nodefence's.
func (l *Leases) GiveBack(ctx context.Context, node string) error {
	if l == nil {
		return nil
	}
	was, err := l.Cluster.LeaseIn(ctx, l.Namespace, nameOf(node))
	if err != nil || !isOurs(was) {
		return err
	}
	return l.Cluster.DeleteLease(ctx, was)
}

// waits says for whom a fence of the node waits; nil if the Lease may be taken.
func (l *Leases) waits(node string, was *coordinationv1.Lease) *observed.Verdict {
	if was == nil || isOurs(was) || holderOf(was) == "" || l.ranOut(was) {
		return nil
	}
	return &observed.Verdict{
		Reason: api.AnotherRemediator, Again: askAgain,
		Message: holderOf(was) + " works on this node: it holds " + l.named(node) + ", which is waited for until it is given up or stands still for its whole duration",
	}
}

// ranOut tells whether a Lease has stood still for its whole duration, as this process has seen it.
// The times in it are of another machine's clock (S30: no decision compares the clocks of two
// machines). One without a duration never runs out.
func (l *Leases) ranOut(was *coordinationv1.Lease) bool {
	if was.Spec.LeaseDurationSeconds == nil || *was.Spec.LeaseDurationSeconds <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]sight{}
	}
	mark, now := string(was.UID)+"/"+was.ResourceVersion, l.Elapsed()
	if s, ok := l.seen[was.Name]; !ok || s.mark != mark {
		l.seen[was.Name] = sight{mark, now}
		return false
	}
	return now-l.seen[was.Name].since >= time.Duration(*was.Spec.LeaseDurationSeconds)*time.Second
}

// ours is the Lease as nodefence holds it from now on.
func (l *Leases) ours(node string, was *coordinationv1.Lease) *coordinationv1.Lease {
	now, seconds := metav1.NewMicroTime(l.Now()), int32(Lasts/time.Second)
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: nameOf(node)}}
	since, transitions := now, int32(0)
	if was != nil {
		next = was.DeepCopy()
		if was.Spec.LeaseTransitions != nil {
			transitions = *was.Spec.LeaseTransitions
		}
		if isOurs(was) && was.Spec.AcquireTime != nil {
			since = *was.Spec.AcquireTime
		} else {
			transitions++
		}
	}
	holder := Holder
	next.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &since, RenewTime: &now, LeaseTransitions: &transitions}
	return next
}

// named is the Lease in words.
func (l *Leases) named(node string) string { return "Lease " + l.Namespace + "/" + nameOf(node) }

func nameOf(node string) string { return "node-" + node }

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func isOurs(l *coordinationv1.Lease) bool { return l != nil && holderOf(l) == Holder }

// asksForIt tells whether whoever holds the Lease asks for this fence: a NodeHealthCheck takes the Lease
// and then makes the FenceRequest. It keeps the Lease when it gives that one up, or sees it fail, and goes
// on to another remediator. So the FenceRequest itself is read, by its UID: one that is withdrawn, gone or
// has failed asks no more, whoever else has joined the fence. Nor does one that may not be read.
func (l *Leases) asksForIt(ctx context.Context, f *api.NodeFence, was *coordinationv1.Lease) (bool, error) {
	if was == nil || !strings.HasPrefix(holderOf(was), holderPrefix) {
		return false, nil
	}
	owner := ", owner NodeHealthCheck/" + strings.TrimPrefix(holderOf(was), holderPrefix)
	for _, a := range f.Status.Decision.AskedBy {
		o := ask.Named(a)
		if o == nil || !strings.HasSuffix(a.User, owner) {
			continue
		}
		is, err := l.Cluster.FenceRequest(ctx, o.Namespace, o.Name)
		switch {
		case apierrors.IsForbidden(err):
		case err != nil:
			return false, fmt.Errorf("look whether FenceRequest %s/%s still asks: %w", o.Namespace, o.Name, err)
		case is != nil && is.UID == o.UID && ask.Asks(is):
			return true, nil
		}
	}
	return false, nil
}
