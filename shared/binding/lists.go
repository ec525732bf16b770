package binding

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Lists keeps the last list of all ConfigMaps in this process, so that many nodes whose devices
// were never resolved, as after the installation or when many fail at once, do not list all
// ConfigMaps each. A list counts for a node by the same rules as a binding that a check has kept
// (holds): the source still writes its version into the ledger, and it has the node's own enrolment
// as it is now. The zero value is empty, and a nil one keeps nothing.
type Lists struct {
	mu      sync.Mutex
	version string
	all     []corev1.ConfigMap
	// turn is had by whoever lists them, so that those who come meanwhile find the list.
	turn chan struct{}
	// began counts the lists that were begun. The one that is kept is number of.
	began, of int
}

// begin waits until nobody else lists the ConfigMaps, or the caller's context ends; end must follow.
func (l *Lists) begin(ctx context.Context) (end func(), err error) {
	l.mu.Lock()
	if l.turn == nil {
		l.turn = make(chan struct{}, 1)
	}
	turn := l.turn
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the list of ConfigMaps: %w", ctx.Err())
	}
}

// forget drops the list. It is called where a node's binding was kept: then most nodes' are, and
// the memory is needed no more.
func (l *Lists) forget() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.all = "", nil
}

func (l *Lists) keep(all []corev1.ConfigMap, number int) {
	for i := range all {
		all[i].ManagedFields = nil // who wrote what is not asked for
	}
	v := version.Of(pointers(all))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version, l.all, l.of = v, all, number
}

// count returns how many lists were begun, with one more if the caller begins one.
func (l *Lists) count(begins bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if begins {
		l.began++
	}
	return l.began
}

// after returns the list that is kept, if it was begun after so many: whoever has waited since then
// needs none of its own, whatever the ledger says.
func (l *Lists) after(began int) []corev1.ConfigMap {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of <= began {
		return nil
	}
	return l.all
}

// at returns the list, if it still counts for that node; nil if it does not.
func (l *Lists) at(now present) []corev1.ConfigMap {
	if l == nil || now.node.UID == "" || now.configs == nil || !observed.Fresh(now.configs.ObservedAt.Time, now.at, facts.Resync) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version == "" || l.version != now.configs.Version || !sameEnrolment(enrolmentIn(l.all, now.node.Name), now.enrolment) {
		return nil
	}
	return l.all
}

// enrolmentIn is the node's own; nil if it has none.
func enrolmentIn(all []corev1.ConfigMap, node string) *api.TargetSource {
	for i := range all {
		if cm := &all[i]; cm.Name == kube.EnrolledName(node) {
			return sourceOf(cm)
		}
	}
	return nil
}

// anew resolves a node's devices by all ConfigMaps: those that this process has, if they count and
// nothing else does for this node, and else as they are now. kept is what a check may keep of it.
func (b Resolver) anew(ctx context.Context, now present) (r resolution, kept *api.TargetBinding, err error) {
	all, listed, err := b.list(ctx, now)
	if err != nil {
		return r, nil, err
	}
	r, err = b.resolve(ctx, all, now.node)
	if kept = b.keep(now.node, all, r, err); kept != nil || listed {
		return r, kept, err
	}
	// What it gives depends on more than the version of that list tells.
	if all, err = b.Client.ConfigMaps(ctx, b.Namespace); err != nil {
		return r, nil, err
	}
	r, err = b.resolve(ctx, all, now.node)
	return r, b.keep(now.node, all, r, err), err
}

// list are all ConfigMaps: those that this process has, if they count, and else they are listed.
func (b Resolver) list(ctx context.Context, now present) (all []corev1.ConfigMap, listed bool, err error) {
	if b.Lists == nil {
		all, err = b.Client.ConfigMaps(ctx, b.Namespace)
		return all, true, err
	}
	if all = b.Lists.at(now); all != nil {
		return all, false, nil
	}
	before := b.Lists.count(false)
	end, err := b.Lists.begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	if all = b.Lists.at(now); all != nil {
		return all, false, nil
	}
	if all = b.Lists.after(before); all != nil {
		return all, true, nil // somebody has listed them while this one waited
	}
	number := b.Lists.count(true)
	if all, err = b.Client.ConfigMaps(ctx, b.Namespace); err == nil {
		b.Lists.keep(all, number)
	}
	return all, true, err
}
