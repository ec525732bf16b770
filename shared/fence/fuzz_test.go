package fence_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// FuzzDecide: whatever a record says, whatever is seen and whenever, Decide does not panic, leaves the
// record that it was given as it is, and releases nothing without a proof (S1). A person's word becomes
// no proof against a read of on (S2), and a call to a device is claimed (S7).
//
// The record is JSON, as the API server stores it. The two streams then change fields of the record and
// of the look: a byte for each field, most of which keep it. So the fuzzer gets to records of the right
// form with wrong contents, and not only to broken JSON.
func FuzzDecide(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, record := range fuzzed(f) {
		f.Add(record, []byte{}, []byte{}, int64(0))
		f.Add(record, sparse(rng, 100+i%900), sparse(rng, i%100), rng.Int64N(int64(2*time.Hour)))
	}
	f.Fuzz(func(t *testing.T, record, changes, look []byte, after int64) {
		var r api.NodeFence
		if len(record) > 1<<16 || json.Unmarshal(record, &r) != nil {
			return
		}
		fuzzOnce(t, &r, changes, look, after)
	})
}

// fuzzOnce alters a record and a look, decides, and judges what was decided.
func fuzzOnce(t *testing.T, r *api.NodeFence, changes, look []byte, after int64) {
	t.Helper()
	now := fencetest.Start.Add(time.Duration(after % int64(48*time.Hour)))
	alter(reflect.ValueOf(r).Elem(), &stream{bytes: changes, now: now}, 0)
	seen := fencetest.LookOf(&r.Status, "r0", now, "Unknown", false, "a")
	alter(reflect.ValueOf(&seen).Elem(), &stream{bytes: look, now: now}, 0)
	before := r.DeepCopy()
	st, act := fence.Decide(r, seen, now)
	if !equality.Semantic.DeepEqual(before, r) {
		t.Error("the record that was given is changed")
	}
	judge(t, before, &st, act, now)
	fence.Needs(r, &seen)
}

// sparse is a stream that changes one field of about twenty.
func sparse(rng *rand.Rand, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		if s[i] = byte(rng.IntN(keeps)); rng.IntN(20) == 0 {
			s[i] = byte(keeps + rng.IntN(keeps))
		}
	}
	return s
}

// releases are the actions that free work of a machine.
var releases = map[fence.Action]bool{fence.Release: true, fence.DeletePods: true, fence.DeleteNode: true, fence.MarkNotReady: true}

func judge(t *testing.T, f *api.NodeFence, st *api.NodeFenceStatus, act fence.Action, now time.Time) {
	t.Helper()
	was := &f.Status
	if releases[act] && st.Proof == nil {
		t.Errorf("%s without a proof, from %s to %s (%s)", act, was.Phase, st.Phase, st.Reason)
	}
	if st.Placed.OutOfService && !was.Placed.OutOfService && (act != fence.Release || st.Proof == nil) {
		t.Errorf("the out-of-service taint is to be placed by %q, proof %v", act, st.Proof)
	}
	if p := st.Proof; p != nil && p.Type == api.ProofConfirmed && (was.Proof == nil || was.Proof.Type != api.ProofConfirmed) {
		if f.Requests().ConfirmOff == nil {
			t.Errorf("a word that nobody gave is a proof, from %s", was.Phase)
		}
		r := st.Power.LastRead
		if age := time.Minute; r != nil && r.State == api.PoweredOn && !r.At.After(now) && now.Sub(r.At.Time) < min(age, 5*time.Second) && f.Status.Decision.Power(0) != nil {
			t.Errorf("a word is a proof against a read of on at %s", r.At)
		}
	}
	if act.Device() && (st.Claim == nil || st.Claim.Call != api.Call(act)) {
		t.Errorf("%s is not claimed: %+v", act, st.Claim)
	}
}

// fuzzed are records of all phases, as other tests have them, and as a short walk comes to them.
func fuzzed(f testing.TB) (all [][]byte) {
	f.Helper()
	seen := map[string]int{}
	keep := func(r *api.NodeFence) {
		raw, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, raw)
	}
	for _, spec := range walk.Specs() {
		decide := func(r *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
			st, act := fence.Decide(r, s, now)
			if k := string(st.Phase) + string(st.Reason) + string(act); seen[k] == 0 {
				seen[k]++
				next := r.DeepCopy()
				next.Status = st
				keep(next)
			}
			return st, act
		}
		walk.Run(decide, walk.Options{From: walk.Begin(spec), Few: 11, Most: 60})
	}
	asks := api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
	now := fencetest.Start.Add(time.Hour)
	for _, p := range append(slices.Clone(api.Phases), "", "Unheard") {
		r, _ := under(now, func(r *api.NodeFence, _ *observed.Look) {
			r.Status.Phase = p
			r.Spec.Requests = api.Requests{Approve: &asks, Retry: &asks, Uncordon: &asks, ConfirmOff: &api.Confirmation{Request: asks}}
			readTwice(r, now, api.PowerUnknown, api.PoweredOff)
			r.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: observed.StampOf(now)}
			r.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1}}
			r.Status.StorageCheck = &api.CheckRound{Number: 1}
		})
		keep(r)
	}
	return all
}

// stream says for each field what becomes of it. Once it is used up every field stays.
type stream struct {
	bytes []byte
	now   time.Time
}

func (s *stream) next() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

// keeps is below which a byte leaves a field as it is.
const keeps = 0x80

// words are what a text may become: each phase, and what texts of records are compared with.
var words = append(allPhases(), "", "n", "a", "b", "r0", "r1", "uid-1", "uid-2", "me", "another", "power-1", "power-2", "isolation-1", "Ready", "True", "Unknown", "On", "Off", "Read",
	"PoweredOn", "PoweredOff",
	"SeenOff", "Confirmed", "StorageCut", "Kdump", "Reboot", "Isolate", "WaitForOff", "Enforce", "RequireApproval", "DryRun", "Power", "Storage", "Network", "mem",
	"NodeCondition", "Machine", "LeaseStill", "Request", "NodeMissing", "NoNode", "None", "TaintAndDelete", "TaintOnly", "Manual", "Automatic", "Succeeded", "GivenUp", "Empty", "Silent", "Skipped", "SentBack", "device/power")

func allPhases() (all []string) {
	for _, p := range api.Phases {
		all = append(all, string(p))
	}
	return all
}

var times = []time.Duration{0, -time.Second, time.Second, -10 * time.Second, time.Minute, -time.Minute, -time.Hour, -25 * time.Hour, time.Hour}

// alter changes what the stream has it change.
func alter(v reflect.Value, s *stream, depth int) {
	if len(s.bytes) == 0 || depth > 12 || !v.CanSet() {
		return
	}
	if at, is := v.Interface().(time.Time); is {
		if b := s.next(); b >= keeps {
			v.Set(reflect.ValueOf(pick(b, s.now, at)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[types.NamespacedName]() {
			return
		}
		for i := range v.NumField() {
			alter(v.Field(i), s, depth+1)
		}
	case reflect.Pointer:
		alterPointer(v, s, depth)
	case reflect.Slice:
		alterSlice(v, s, depth)
	case reflect.String:
		if b := s.next(); b >= keeps {
			v.SetString(words[(int(b-keeps)*256+int(s.next()))%len(words)])
		}
	case reflect.Bool:
		if s.next() >= keeps {
			v.SetBool(!v.Bool())
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if b := s.next(); b >= keeps {
			v.SetInt([]int64{0, 1, -1, 2, 1 << 30, int64(time.Second), int64(time.Hour)}[int(b)%7])
		}
	default:
	}
}

func pick(b byte, now, was time.Time) time.Time {
	if b == 0xff {
		return time.Time{}
	}
	if b == 0xfe {
		return was.Add(time.Second)
	}
	return now.Add(times[int(b)%len(times)]).Truncate(time.Microsecond)
}

func alterPointer(v reflect.Value, s *stream, depth int) {
	switch b := s.next(); {
	case b < keeps:
	case b < 0xc0:
		v.SetZero()
	case v.IsNil():
		v.Set(reflect.New(v.Type().Elem()))
	}
	if !v.IsNil() {
		fresh := reflect.New(v.Type().Elem())
		fresh.Elem().Set(v.Elem()) // what the look or another record has stays as it is
		alter(fresh.Elem(), s, depth+1)
		v.Set(fresh)
	}
}

func alterSlice(v reflect.Value, s *stream, depth int) {
	switch b := s.next(); {
	case b < keeps:
	case b < 0xc0:
		v.SetZero()
	default:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	}
	for i := range v.Len() {
		alter(v.Index(i), s, depth+1)
	}
}

// TestDecideOnRecordsThatNobodyWrote is FuzzDecide on a bounded number of altered records, with a seed of
// its own for each: what a fuzzer may take hours to come to.
func TestDecideOnRecordsThatNobodyWrote(t *testing.T) {
	rounds := 40
	for i, raw := range fuzzed(t) {
		var was api.NodeFence
		if err := json.Unmarshal(raw, &was); err != nil {
			t.Fatal(err)
		}
		for round := range rounds {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(round)))
			fuzzOnce(t, was.DeepCopy(), sparse(rng, 1500), sparse(rng, 200), rng.Int64N(int64(2*time.Hour)))
		}
	}
}
