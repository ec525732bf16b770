package binding

import (
	"context"
	"fmt"
	"sync"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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
	mu   sync.Mutex
	kept *snapshot
	// usedAt is when it was last used by its version.
	usedAt time.Time
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

// unusedFor is how long a list is kept that nobody uses.
const unusedFor = time.Minute

// forget drops a list that was not used for a while. It is called where a node's binding was kept: if nobody
// has used the list for a while, all nodes' bindings are kept, and the memory is needed no more.
func (l *Lists) forget(at time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Sub(l.usedAt).Abs() >= unusedFor {
		l.kept = nil
	}
}

func (l *Lists) keep(s *snapshot, number int, at time.Time) {
	s.version() // before anybody waits for the lock
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.of, l.usedAt = s, number, at
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
func (l *Lists) after(began int) *snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of <= began {
		return nil
	}
	return l.kept
}

// at returns the list, if it still counts for that node; nil if it does not.
func (l *Lists) at(now present) *snapshot {
	if l == nil || now.node.UID == "" || now.configs == nil || !observed.Fresh(now.configs.ObservedAt.Time, now.at, facts.Resync) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || !l.kept.holds(now) {
		return nil
	}
	l.usedAt = now.at
	return l.kept
}

// holds reports whether listing now would give the same for that node.
func (s *snapshot) holds(now present) bool {
	return s.resolver != "" && s.resolver == now.resolver && s.version() == now.configs.Version && sameEnrolment(s.enrolment(now.node.Name), now.enrolment)
}

// enrolment is the node's own; nil if it has none.
func (s *snapshot) enrolment(node string) *api.TargetSource {
	for i := range s.all {
		if cm := &s.all[i]; cm.Name == kube.EnrolledName(node) {
			return sourceOf(cm)
		}
	}
	return nil
}
