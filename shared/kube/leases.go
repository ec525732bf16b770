package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Lease reads a node's Lease; nil when there is none.
func (c *Client) Lease(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return get[coordinationv1.Lease](ctx, c, leasesPath+"/"+node)
}

// What is known of dumps is in Leases, one for each node, in a namespace of their own: the
// program that listens to the network may write there and nowhere else.
const (
	// DumpsNamespace is their namespace.
	DumpsNamespace = "nodefence-kdump"
	dumpsPath      = "/apis/coordination.k8s.io/v1/namespaces/" + DumpsNamespace + "/leases"
	nodeUIDKey     = "nodefence.io/node-uid"
	bootIDKey      = "nodefence.io/boot-id"
	// dumpSpell is the silence after which a message begins another dump.
	dumpSpell = 10 * time.Minute
	// longestSource is the API's limit; a source is an IP address.
	longestSource = 64
)

// Dump is what is known of the dump of a node's machine.
type Dump struct {
	// NodeUID is the node that had the messages' source address.
	NodeUID types.UID
	// BootID is the boot that it had when the first of them came.
	BootID      string
	First, Last time.Time
	Source      string
	Count       int64
}

// Dump reads what is known of the dump of a node's machine; nil when there is nothing.
func (c *Client) Dump(ctx context.Context, node string) (*Dump, error) {
	l, err := get[coordinationv1.Lease](ctx, c, dumpsPath+"/"+node)
	if err != nil || l == nil {
		return nil, err
	}
	return dumpOf(l), nil
}

// dumpOf reads such a Lease; nil if it says nothing.
func dumpOf(l *coordinationv1.Lease) *Dump {
	s := l.Spec
	if s.AcquireTime == nil || s.RenewTime == nil || s.HolderIdentity == nil {
		return nil
	}
	source := *s.HolderIdentity
	source = strings.ToValidUTF8(source[:min(len(source), longestSource)], "")
	d := &Dump{
		NodeUID: types.UID(l.Annotations[nodeUIDKey]), BootID: BootID(l.Annotations[bootIDKey]),
		First: s.AcquireTime.Time, Last: s.RenewTime.Time, Source: source,
	}
	if s.LeaseTransitions != nil {
		d.Count = int64(*s.LeaseTransitions)
	}
	return d
}

// RecordDump records, by compare-and-swap, that a kdump message of a node's machine came at a
// time of the boot clock (Elapsed), and returns what is recorded after that.
func (c *Client) RecordDump(ctx context.Context, n *corev1.Node, source string, at time.Duration) (*Dump, error) {
	for range tries {
		was, err := get[coordinationv1.Lease](ctx, c, dumpsPath+"/"+n.Name)
		if err != nil {
			return nil, err
		}
		l := dumpLease(was, n, source, c.clock.At(at))
		if was == nil {
			l, err = create(ctx, c, dumpsPath, l)
		} else {
			l, err = update(ctx, c, dumpsPath+"/"+n.Name, l)
		}
		if err == nil {
			return dumpOf(l), nil
		}
		if !isConflict(err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("write down the kdump message of %s: %w", n.Name, ErrConflict)
}

// dumpLease is the Lease was with one more message. Another machine, another boot or a long
// silence begins a new dump. The Node owns the Lease, so that it is deleted with the Node.
func dumpLease(was *coordinationv1.Lease, n *corev1.Node, source string, now time.Time) *coordinationv1.Lease {
	at, count := metav1.NewMicroTime(now), int32(1)
	l := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name, Namespace: DumpsNamespace,
			Annotations:     map[string]string{nodeUIDKey: string(n.UID), bootIDKey: BootID(n.Status.NodeInfo.BootID)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &source, AcquireTime: &at, RenewTime: &at, LeaseTransitions: &count},
	}
	if was == nil {
		return l
	}
	l.ResourceVersion, l.UID = was.ResourceVersion, was.UID
	d := dumpOf(was)
	if d == nil || d.NodeUID != n.UID || d.BootID != BootID(n.Status.NodeInfo.BootID) || now.Sub(d.Last) > dumpSpell {
		return l
	}
	count = int32(min(d.Count+1, 1<<30))
	l.Spec.AcquireTime = was.Spec.AcquireTime
	if d.Last.After(now) { // another replica has recorded a later one first
		l.Spec.RenewTime = was.Spec.RenewTime
	}
	return l
}

func leasePath(namespace, name string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases/" + name
}

// LeaseIn reads a Lease of any namespace; nil when there is none.
func (c *Client) LeaseIn(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error) {
	return get[coordinationv1.Lease](ctx, c, leasePath(namespace, name))
}

// SaveLease creates a Lease that has no resourceVersion, and else writes it by compare-and-swap:
// ErrConflict says that somebody else wrote first.
func (c *Client) SaveLease(ctx context.Context, l *coordinationv1.Lease) (err error) {
	l.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	path := leasePath(l.Namespace, l.Name)
	if l.ResourceVersion == "" {
		_, err = create(ctx, c, strings.TrimSuffix(path, "/"+l.Name), l)
	} else {
		_, err = update(ctx, c, path, l)
	}
	return err
}

// DeleteLease deletes the Lease as it was read; one that was written since, or is gone, is left.
func (c *Client) DeleteLease(ctx context.Context, l *coordinationv1.Lease) error {
	o := deletionOf(l.UID)
	o.Preconditions.ResourceVersion = &l.ResourceVersion
	err := c.rest.Delete().AbsPath(leasePath(l.Namespace, l.Name)).Body(o).Do(ctx).Error()
	if err != nil && !isConflict(err) && absentName(err) == "" {
		return fmt.Errorf("delete Lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return nil
}
