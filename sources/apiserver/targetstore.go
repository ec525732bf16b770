package apiserver

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/pace"
)

// targetView is the part of a FenceTarget that is kept.
type targetView struct {
	uid     types.UID
	nodeUID string
	// hostHA is the state in the FenceTarget; fenceable is a condition from which it
	// follows.
	hostHA    api.HostHA
	fenceable metav1.ConditionStatus
	// unfit is the reason why the node could not be fenced; empty if there is none.
	unfit string
	// toBeFenced says of a node that could not be fenced whether the policies would have it
	// fenced, in the words of the metric's label; empty until that is known.
	toBeFenced     string
	devices        int
	oldest, latest time.Time
	// asked says that a person asks to have the node's devices read now.
	asked bool
	// configs is the version of the ConfigMaps by which the node's devices are kept; empty
	// if none are.
	configs string
}

func viewOfTarget(t *api.FenceTarget) *targetView {
	v := &targetView{uid: t.UID, nodeUID: string(t.Status.NodeUID), devices: len(t.Status.Devices), hostHA: t.Status.HostHA}
	wish := t.AskedNow()
	v.asked = wish != "" && !t.Heeded(wish)
	if c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable); c != nil {
		if v.fenceable = c.Status; c.Status == metav1.ConditionFalse {
			v.unfit = c.Reason
		}
	}
	if b := t.Status.Binding; b != nil {
		v.configs = b.ConfigsVersion
	}
	if at := t.Status.LastChecked; at != nil {
		v.latest, v.oldest = at.Time, at.Time
	}
	for _, d := range t.Status.Devices {
		if d.Reason == api.DeviceDenied {
			continue // a denied device is left alone for a while, so its turns have no result
		}
		switch at := cmp.Or(d.LastAsked, d.LastChecked); { // a turn without a result counts as a turn
		case at == nil:
			v.oldest = time.Time{}
		case at.Time.Before(v.oldest):
			v.oldest = at.Time
		}
	}
	return v
}

// targetStore has what is known of the FenceTargets, and what follows from them: the turns
// for checks, and the state of each node in Host HA.
type targetStore struct {
	unfenceable *prometheus.GaugeVec

	mu     sync.Mutex
	byNode map[string]*targetView
	// pace gives the turns for checks; listed says that the FenceTargets are known.
	pace   *pace.Pace
	listed bool
	hostHA *hostHA
	// configs is the version of the ConfigMaps, and since when this source has seen it.
	configs      string
	configsSince time.Time
	// configsChanged tells whether the version has changed while this source leads.
	configsChanged bool
}

func newTargetStore() *targetStore {
	t := &targetStore{unfenceable: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "nodefence_nodes_unfenceable", Help: "Nodes that could not be fenced now, according to their FenceTargets, by reason, and by whether the policies would have them fenced.",
	}, []string{"reason", "to_be_fenced"})}
	t.begin(0, nil)
	return t
}

// begin resets the store before each lead, with the turns that an earlier leader gave.
func (t *targetStore) begin(every time.Duration, shown []api.NodeTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byNode, t.pace, t.listed, t.hostHA = map[string]*targetView{}, pace.New(every, shown), false, newHostHA()
	t.configs, t.configsSince, t.configsChanged = "", time.Time{}, false
	t.unfenceable.Reset()
}

// known notes that the FenceTargets have been listed.
func (t *targetStore) known() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed = true
}

// saw notes a FenceTarget as it is now, nil if it was deleted, and updates the metric.
func (t *targetStore) saw(name string, now *targetView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.byNode[name]
	t.countLocked(was, -1)
	if now == nil {
		delete(t.byNode, name)
		return
	}
	if was != nil && was.unfit != "" && now.unfit != "" {
		now.toBeFenced = was.toBeFenced
	}
	t.byNode[name] = now
	t.hostHA.doubtful[name] = true
	t.pace.Answered(name, now.latest)
	t.countLocked(now, 1)
}

// noteVerdict notes whether the policies would have a node fenced that could not be, and updates
// the metric.
func (t *targetStore) noteVerdict(name string, toBeFenced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.byNode[name]; v != nil && v.unfit != "" {
		t.countLocked(v, -1)
		v.toBeFenced = strconv.FormatBool(toBeFenced)
		t.countLocked(v, 1)
	}
}

// countLocked adds n to the metric for a node that could not be fenced, once it is known
// whether it would be.
func (t *targetStore) countLocked(v *targetView, n float64) {
	if v != nil && v.unfit != "" && v.toBeFenced != "" {
		t.unfenceable.WithLabelValues(v.unfit, v.toBeFenced).Add(n)
	}
}

// uids returns the UIDs of the FenceTargets, by node.
func (t *targetStore) uids() map[string]types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]types.UID, len(t.byNode))
	for name, v := range t.byNode {
		all[name] = v.uid
	}
	return all
}

// hostHA has the inputs of the state that no other part of the source keeps.
type hostHA struct {
	policies map[string]api.FencePolicy
	// stopped says that the ledger lets no fence begin.
	stopped bool
	// doubtful has the nodes whose state may have changed.
	doubtful map[string]bool
}

func newHostHA() *hostHA {
	return &hostHA{policies: map[string]api.FencePolicy{}, doubtful: map[string]bool{}}
}
