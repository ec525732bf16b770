package acts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/adopt/mhc"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// standing is what one field of an object says.
type standing struct {
	field api.ActField
	// value is the field in words; empty where it is not set.
	value string
	// mark is a digest of the person's word; empty where nobody gave one.
	mark   string
	by     string
	at     time.Time
	reason string
	// beside is a reason that stands beside the field, and is no part of the word. A bare start leaves it there.
	beside string
	number int64
	// manager is the field manager that wrote the field last.
	manager string
	// cleared tells that nodefence itself empties the field: an empty field is no act.
	cleared bool
}

// object is what a person may have changed, with what each of its fields says.
type object struct {
	api.ActObject
	stands []standing
}

// stopped and running are the values of the stop switch.
const stopped, running = "true", "false"

// restValue is the value of a field that nobody has written.
func restValue(field api.ActField) string {
	if field == api.ActStop {
		return running
	}
	return ""
}

// readLedger returns what people have written into the FenceLedger.
func readLedger(l *api.FenceLedger) object {
	s := l.Spec
	stop := readBrake(api.ActStop, running, s.StopChanged, findManager(l.ManagedFields, "stop"))
	if stop.beside = s.StopReason; s.Stop {
		stop.value = stopped
	}
	all := []standing{stop, {field: api.ActRestoreConfirmed}, {field: api.ActEndCoolDown}, {field: api.ActLost}}
	if w := s.RestoreConfirmed; w != nil {
		all[1].value, all[1].mark, all[1].by = "the restore of "+clock(w.SeenAt), digestOf(w), w.By
	}
	if w := s.CoolDownEnded; w != nil {
		ends := []string{clock(w.Until)}
		for _, also := range w.AlsoUntil {
			ends = append(ends, clock(also))
		}
		all[2].value, all[2].mark, all[2].by, all[2].reason = "cool-downs until "+strings.Join(ends, ", "), digestOf(w), w.By, w.Reason
	}
	if w := s.Lost; w != nil {
		var names []string
		for _, n := range w.Nodes {
			names = append(names, n.NodeName)
		}
		value := fmt.Sprintf("until %s: %d: %s", clock(w.Until), len(names), strings.Join(names, ", "))
		all[3].value, all[3].mark, all[3].by, all[3].reason = value, digestOf(w), w.By, w.Reason
	}
	return objectOf("FenceLedger", &l.ObjectMeta, all)
}

// readPolicy returns what people have written into the brakes of a FencePolicy. The pauses of MachineHealthChecks are
// nodefence's own.
func readPolicy(p *api.FencePolicy) object {
	s := readBrake(api.ActPause, "", p.Spec.PauseChanged, findManager(p.ManagedFields, "pauseRequests"))
	names := slices.DeleteFunc(slices.Clone(p.Spec.PauseRequests), func(name string) bool { return strings.HasPrefix(name, mhc.Prefix) })
	slices.Sort(names)
	s.value = strings.Join(names, ", ")
	return objectOf("FencePolicy", &p.ObjectMeta, []standing{s})
}

// readFence returns what people have asked of a node's fence. The gate empties requests of earlier fences.
func readFence(f *api.NodeFence) object {
	r := f.Spec.Requests
	confirm := standing{field: api.ActConfirmOff, cleared: true}
	if w := r.ConfirmOff; w != nil {
		confirm = readRequest(api.ActConfirmOff, &w.Request)
		confirm.mark = digestOf(w)
	}
	abort, trust := standing{field: api.ActAbort, cleared: true}, standing{field: api.ActTrust, cleared: true}
	if w := r.Abort; w != nil {
		abort.value, abort.mark, abort.by, abort.at, abort.reason, abort.number = "the open fence", digestOf(w), w.By, w.At.Time, w.Reason, f.Status.FenceNumber
		if w.FenceNumber != nil {
			abort.value, abort.number = fenceWords(*w.FenceNumber), *w.FenceNumber
		}
	}
	if w := f.Spec.Trust; w != nil {
		trust.value, trust.mark, trust.by, trust.at, trust.reason = "the cut refuted at "+clock(w.RefutedAt), digestOf(w), w.By, w.At.Time, w.Reason
	}
	return objectOf("NodeFence", &f.ObjectMeta, []standing{
		readRequest(api.ActApprove, r.Approve), readRequest(api.ActRetry, r.Retry), readRequest(api.ActLift, r.Uncordon), confirm, abort, trust,
	})
}

// readRequest returns what one of spec.requests says.
func readRequest(field api.ActField, r *api.Request) standing {
	if r == nil {
		return standing{field: field, cleared: true}
	}
	return standing{field: field, value: fenceWords(r.FenceNumber), mark: digestOf(r), by: r.By, at: r.At.Time, reason: r.Reason, number: r.FenceNumber, cleared: true}
}

func fenceWords(number int64) string { return fmt.Sprintf("fence %d", number) }

// readBrake returns a brake with who changed it last, as far as that is known.
func readBrake(field api.ActField, value string, c *api.BrakeChange, manager string) standing {
	s := standing{field: field, value: value, manager: manager}
	if c != nil {
		s.mark, s.by, s.at, s.reason = digestOf(c), c.By, c.At.Time, c.Reason
	}
	return s
}

func objectOf(kind string, m *metav1.ObjectMeta, all []standing) object {
	return object{api.ActObject{Kind: kind, Name: m.Name, UID: m.UID, Generation: m.Generation}, all}
}

// findManager returns the field manager that owns a field of the spec; empty where none does, as of a field that was removed.
// Where several do, it is the one that wrote last.
func findManager(all []metav1.ManagedFieldsEntry, field string) string {
	name, last := "", time.Time{}
	for _, e := range all {
		var owned struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		if raw := e.FieldsV1.GetRawBytes(); !bytes.Contains(raw, []byte(field)) || json.Unmarshal(raw, &owned) != nil {
			continue
		}
		if _, is := owned.Spec["f:"+field]; is && (name == "" || e.Time != nil && e.Time.After(last)) {
			name = e.Manager
			if e.Time != nil {
				last = e.Time.Time
			}
		}
	}
	return name
}

// digestOf tells one word of a person from another.
func digestOf(word any) string {
	text, err := json.Marshal(word)
	if err != nil {
		return "" // a word is always JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func clock(t api.Time) string { return t.UTC().Format(time.RFC3339) }
