package fence_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// breaks names the promise that each broken Decide breaks. Another promise that it
// breaks too does not count: that may be the walk's own fault.
var breaks = map[string]string{
	"acts on an old decision":                                          "S17: no first Off on an old decision",
	"believes a dump against a moving Lease":                           "kdump: messages against a moving Lease hold nothing",
	"believes a message of another node":                               "S1: messages of this node's dump arrive",
	"believes a message of the future":                                 "S3: each batch rests on a message that has just come",
	"believes a person against a moving Lease":                         "S3: a confirmation against a moving Lease is not believed",
	"believes an old message":                                          "S3: each batch rests on a message that has just come",
	"believes half a proof from before a restore":                      "S1: a proof is two reads of off, with nothing else between them",
	"believes one message":                                             "S1: messages of this node's dump arrive",
	"believes one read of a cut":                                       "S1: storage is proven cut by two reads, a settle apart, with nothing else between them",
	"believes one read":                                                "S1: a proof is two reads of off, with nothing else between them",
	"believes without looking that access is back":                     "S25: no recovery before what we cut off was seen given back",
	"calls without a claim":                                            "S7: a call is claimed before it is made",
	"closes with its finalizer on":                                     "S27: the finalizer is off before the record is closed",
	"confirms without a person":                                        "S1: a confirmation comes from a person",
	"counts as dead on the checks alone, whatever the Lease does":      "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"cuts a machine for its Lease alone":                               "S17: no Off for the Lease alone, before a condition of the policy has held for its time",
	"cuts the power instead of going back":                             "activityChecks: no device call before enough checks failed, or it was degraded for too long",
	"cuts where it should only isolate":                                "no device is touched where the policy only isolates, and none is switched where it does nothing",
	"deletes a Machine after an abort":                                 "S25: no Machine is deleted while a brake is on, or after an abort",
	"deletes a Machine for ever":                                       "S8: each try is saved before it is made, and there are no more than are allowed",
	"deletes a Machine on an old decision":                             "S17: no Machine is deleted on an old decision",
	"deletes a Machine that is listed no more":                         "S17: no Machine is deleted that is listed no more, or whose name a Node has",
	"deletes a Machine while a brake is on":                            "S25: no Machine is deleted while a brake is on, or after an abort",
	"deletes a Machine whose name a Node has":                          "S17: no Machine is deleted that is listed no more, or whose name a Node has",
	"deletes a Node on an old proof":                                   "S3: a Node is deleted on a fresh proof",
	"deletes a Node while its work is left":                            "S24: nothing is left on a Node that is deleted",
	"deletes a Node whose machine has rebooted":                        "S4: no Node is deleted after a reboot",
	"deletes a Node with the out-of-service taint on":                  "S23: the out-of-service taint is off before its Node goes",
	"deletes another Node of the name":                                 "S6: nothing is done in the name of another node",
	"deletes the Node of a machine that is switched on again":          "the Node of a machine that comes back is left",
	"does not ask for the storage":                                     "storageCheck: no fence begins before the storage was asked for",
	"does not ask storm and quorum again":                              "S13, S15: no Off before storm, budgets and quorum were asked again",
	"does not ask the budgets":                                         "S24: no pod is deleted against its budget",
	"does not hear a dump":                                             "kdump: no first Off while a dump is under way",
	"does not hear an abort":                                           "S25: no Off after an abort",
	"does not hear one that begins after the yes":                      "kdump: no first Off while a dump is under way",
	"does not hear that the storage is unreachable":                    "storageCheck: no fence begins while the storage is unreachable for everyone",
	"does not hear the end during a dump":                              "S15: no release begins in a storm, a pause or a stop, or for a fence that was called off",
	"does not hear the one that saw activity":                          "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes a cordon that went earlier for an answer":                   "recovery.uncordon: Manual: a node that was fenced is given back when a person says so",
	"does not see that somebody uncordoned":                            "S27: what a person uncordons returns once it is healthy",
	"does not hear who uncordons":                                      "S27: what a person uncordons returns once it is healthy",
	"does not let it settle":                                           "S1: the reads are a settle apart",
	"does not look at the Lease":                                       "S3: a confirmation against a moving Lease is not believed",
	"does not look at the boot ID":                                     "S4: nothing is released after a reboot",
	"does not look at the boot's messages":                             "S4: nothing is released after a reboot",
	"does not look at the node's UID":                                  "S6: nothing is done in the name of another node",
	"does not look at the volumes in use":                              "S1: access is not given back to a machine on which what was released may still write",
	"does not mind another's call":                                     "S7: another's call is left alone until it can't be in flight",
	"does not mind whose machine answers":                              "S11: no Off to another machine",
	"does not say what holds it":                                       "S28: a fence that is held says why",
	"does not say when to look next":                                   "S19: an open record says when to look next",
	"does not see that it is deleted":                                  "S27: it ends in a world whose device is dead, after a person has ended it",
	"does not see that the Machine is Failed no more":                  "S17: no first Off once the reason has gone",
	"does not see that the node healed":                                "S17: no first Off once the reason has gone",
	"does not see that the policies are stricter now":                  "S17: no Off while the policies as they stand are stricter",
	"does not see that the state went back":                            "S16, S25: a fence that is held does not go on",
	"does not see the brakes during a dump":                            "S15: no release begins in a storm, a pause or a stop, or for a fence that was called off",
	"does not see the brakes":                                          "S25: no Off while a brake is on",
	"does not see the reboot after a dump":                             "S4: nothing is released after a reboot",
	"does not see the windows":                                         "S16, S25: a fence that is held does not go on",
	"does not wait for a first message":                                "kdump: no first Off before a first message was waited for",
	"does not wait for the condition's time":                           "S17: for the Lease alone nothing is placed on a node whose machine is not seen off",
	"fences for one failed Machine again and again":                    "S17: no first Off once the reason has gone",
	"fences what is degraded, however short":                           "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"forgets that the Lease was fresh":                                 "S5: a fresh Lease must stand still for a renewal",
	"forgets what it cut off":                                          "S25: no recovery before what we cut off was seen given back",
	"forgets when it deleted last":                                     "S24: no minute has more deletions than the rate",
	"frees all at once where it is to go pod by pod":                   "S24: no taint frees all at once where the release is pod by pod",
	"gives back what others cut off":                                   "S12: only what we cut is switched on",
	"gives back while a cut may still take effect":                     "S8: no On while an Off of ours may still take effect",
	"gives storage back to a machine whose Node was deleted":           "S1: access is not given back to a machine on which what was released may still write",
	"gives storage back while its writers live":                        "S1: access is not given back to a machine on which what was released may still write",
	"gives up giving back":                                             "S25: no recovery before what we cut off was seen given back",
	"gives up what it cut":                                             "S25: a machine that we cut is not given up",
	"goes on after the first failed round":                             "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"goes on before what must be cut off was seen so":                  "isolation: the power is not cut before what must be cut off was seen so",
	"goes on from a peek without isolating":                            "S22: the isolation taint is there before a command",
	"goes on from the read without the gate":                           "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"hears of another node's dump":                                     "kdump: nothing but messages of this node's dump holds it",
	"holds only what has not begun against the policies":               "S17: no Off while the policies as they stand are stricter",
	"is open to an older nodefence":                                    "S21: an older nodefence leaves such a record alone",
	"keeps a healed node because it is held":                           "S27: a healed node returns, though a restore holds",
	"keeps a node in silence":                                          "S28: a node that is kept says why",
	"keeps its slot while it waits for a dump":                         "kdump: no dump keeps a slot while it is only waited for",
	"keeps its taint on an excluded node":                              "S17, S22: no taint of ours stays on a node that is left alone now",
	"leaves its own cordon on":                                         "S22: nothing of ours is left",
	"leaves its own taint on":                                          "S22: nothing of ours is left",
	"leaves the out-of-service taint on":                               "S23: the out-of-service taint is off, and can't come back, before the machine may be on",
	"lets a batch be begun at any time":                                "S4: nothing is begun to be released once the machine may be switched on",
	"lets a dump's batch be begun at any time":                         "S3: each batch rests on a message that has just come",
	"lets a failed round speak for ever":                               "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"lets a proof live for ever":                                       "S3: the proof is fresh",
	"lets a restore stop what was begun":                               "S25: what was begun runs to its end, whatever holds what is new",
	"lets a window stop what was begun":                                "S25: what was begun runs to its end, whatever holds what is new",
	"listens to a round that is over":                                  "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"looks at the first policy's windows alone":                        "S16, S25: a fence that is held does not go on",
	"makes no activity check":                                          "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"makes two calls in one invocation":                                "S7: one call an invocation",
	"marks a node before its machine is read":                          "S17: nothing is placed on a node whose machine is not seen off, where nobody confirms that it is",
	"marks a node whose machine is on":                                 "S17: for the Lease alone nothing is placed on a node whose machine is not seen off",
	"never counts its tries":                                           "S27: it ends in a world whose device is dead, after a person has ended it",
	"places the taint where only storage is cut":                       "S1: no out-of-service taint where only storage is cut",
	"reads the machine before the others have answered":                "activityChecks: the machine is read only where every other check saw nothing",
	"reads unknown as off":                                             "S1: a proof is two reads of off, with nothing else between them",
	"releases a node that counts as Ready":                             "S5: nothing is released while the node counts as Ready",
	"releases for a Lease that moves":                                  "S17: a release before its time rests on a Lease that stands still",
	"releases on a person's word from before a restore":                "S16: as long as nobody confirms a restore, nothing is released on a proof from before it",
	"releases on one read of off":                                      "S1: a proof is two reads of off, with nothing else between them",
	"releases pods against a Lease that moves":                         "S1: the Lease has stopped",
	"releases pods during a dump for ever":                             "kdump: nothing is released once the dump's time is over",
	"releases pods of a dumping node that counts as Ready":             "S5: nothing is released while the node counts as Ready",
	"releases pods of another node of the name":                        "S6: the pods are of the node that was fenced",
	"releases pods on an old decision":                                 "S17: no release begins on an old decision",
	"releases pods without a Lease that was seen":                      "S1: the Lease has stopped",
	"releases what it finds under a Machine's name":                    "S1: nothing is proven of a Machine that has no node, and nothing released",
	"remembers failed rounds past a sign of life":                      "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"returns a node that healed while the flow began anew":             "recovery.uncordon: Manual: a node that was fenced is given back when a person says so",
	"returns a node that nobody uncordoned":                            "recovery.uncordon: Manual: a node that was fenced is given back when a person says so",
	"sends Off on an old read":                                         "S9: an Off follows a fresh read of on",
	"sends Off without a read":                                         "S9: an Off follows a fresh read of on",
	"sends a further Off though the state went back":                   "S25: no Off while a brake is on",
	"serves a request again and again":                                 "S17: no first Off once the reason has gone",
	"serves a request however old":                                     "S17: no first Off once the reason has gone",
	"sets the taint for a dump":                                        "S1: for a dump nothing but pods is released",
	"sleeps over the end of a window":                                  "S27: whoever waits for a window is decided anew when it ends",
	"switches a machine that it is told to leave alone":                "S12: what nodefence is told to leave alone is neither switched off nor on",
	"switches off what is healthy again, for its last Off did nothing": "S17: no further Off of a node that is healthy again",
	"switches on before its work is gone":                              "S4: no power-on before its work is gone",
	"switches on one level alone":                                      "S25: every level that was cut is seen on",
	"switches on what it has only seen off":                            "S12: an off that was another's doing is never ours",
	"switches on what others switched off":                             "S12: only what we cut is switched on",
	"switches on what ran on a Node that is gone, while it is left":    "S4: no power-on before the work of a Node that is gone is gone too",
	"switches on while an Off may still take effect":                   "S8: no On while an Off of ours may still take effect",
	"takes a dump for a proof that nobody opted in to":                 "S1: a dump is a proof only where the policy opts in",
	"takes a dump's release for one of a machine that is off":          "S4: after a dump's release the machine is seen off like any other",
	"takes a later boot's dump for the one that it began with":         "S4: nothing is released after a reboot",
	"takes a machine that is on for dead":                              "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes a message of the future for a new one":                      "kdump: nothing but messages of this node's dump holds it",
	"takes a refused look for the end of a dump":                       "kdump: no first Off while a dump is under way",
	"takes a taint that it doesn't see for one that can't come":        "S23: the out-of-service taint is off, and can't come back, before the machine may be on",
	"takes a window that it can't read for shut":                       "S16, S25: a fence that is held does not go on",
	"takes an old message for a new one":                               "kdump: nothing but messages of this node's dump holds it",
	"takes another machine's off for a proof":                          "S1: a proof is two reads of off, with nothing else between them",
	"takes another machine's off for this one's":                       "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes another's off for a late one of its own":                    "S12: only what we cut is switched on",
	"takes any device for one that never reads off too soon":           "S5: after our own Off the reads are the device's lead apart",
	"takes any window for open":                                        "a window that is not open changes nothing",
	"takes brakes not looked at for off":                               "S25: no Off while a brake is on",
	"takes its own mark for a condition":                               "S17: for the Lease alone nothing is placed on a node whose machine is not seen off",
	"takes one supply that is on for all":                              "S25: every supply that was cut is asked for anew while it is not on",
	"takes over a read that may be under way by its holder's clock":    "S7: another's call is left alone until it can't be in flight",
	"takes over before a lost Off has had its effect":                  "S7: another's call is left alone until it can't be in flight",
	"takes unknown power for off":                                      "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes unknown power for on":                                       "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes what has not answered for no activity":                      "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes what it has asked for as done":                              "S2: that its deletion was asked for is no evidence of it",
	"takes what one level said for the next":                           "S1: a proof is two reads of off, with nothing else between them",
	"takes what went wrong for no activity":                            "activityChecks: nothing begins before enough checks failed, and lately, or it was degraded for too long",
	"takes work that nobody has looked at for gone":                    "S4: no power-on before its work is gone",
	"tries on when its tries are used up":                              "S25: no further Off once the tries are used up, unless the gate says yes again",
	"waits for a dump for ever":                                        "kdump: a dump is waited for no longer than the policy says",
	"waits for a window that has ended":                                "S27: it ends once a window has ended",
}

// near is where the hunt for some begins: a walk comes there in time, a hunt by luck only.
var near = map[string]func() []state{
	"does not wait for a first message":                                readOnBeforeADump,
	"forgets that the Lease was fresh":                                 cutJustNow,
	"holds only what has not begun against the policies":               readOnAgain,
	"lets a restore stop what was begun":                               releasesHeld,
	"sends a further Off though the state went back":                   readOnHeld,
	"serves a request again and again":                                 readOnServed,
	"switches off what is healthy again, for its last Off did nothing": readOnAgain,
	"switches on one level alone":                                      bothLevelsCut,
	"switches on while an Off may still take effect":                   lostJustNow,
	"takes another's off for a late one of its own":                    cutOnce,
	"takes any device for one that never reads off too soon":           cutJustNow,
	"tries on when its tries are used up":                              awaitedNow,
}

func init() {
	for name := range brokenDumpProof {
		near[name] = dumpsNow
	}
}

// cutJustNow are machines to which an Off was sent a moment ago, with a Lease that still
// moved then, and with one that did not.
func cutJustNow() []state {
	of := func(still time.Time, fresh bool) state {
		at, since, effect := fence.StampOf(fencetest.Start), fence.StampOf(still), fencetest.Start.Add(3*time.Second)
		until := fence.StampOf(effect)
		return state{
			now: fencetest.Start, spec: fencetest.Spec(),
			sh: shadow{cut: true, served: true, fresh: fresh, moved: still, renewed: "r0", sent: fencetest.Start, until: effect, effect: [2]time.Time{effect}, off: [2]bool{true}, decided: &at},
			st: api.NodeFenceStatus{
				Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, CutOrReleased: true, BootIDBefore: "a",
				Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &since},
				Power: api.PowerRecord{SwitchedByUs: true, Cuts: 1, OffCalls: 1, CutAt: &at, OffAt: &at, EffectUntil: &until, LeaseFresh: fresh, Cut: []int32{0}},
			},
		}
	}
	return []state{of(fencetest.Start.Add(-time.Second), true), of(fencetest.Start.Add(-time.Minute), false)}
}

// lostJustNow is such a machine whose Node was deleted since, with nothing left on it.
func lostJustNow() []state {
	s := cutJustNow()[1]
	s.st.Phase, s.st.Outcome, s.st.Placed = api.PoweringOn, api.NodeGone, api.Placed{}
	return []state{s}
}

// bothLevelsCut is a machine that is to be switched on at two levels.
func bothLevelsCut() []state {
	s := lostJustNow()[0]
	s.spec, s.now = levelsSpec(), s.now.Add(time.Minute)
	s.st.Power.Level, s.st.Power.Cut = 1, []int32{0, 1}
	s.sh.off = [2]bool{true, true}
	return []state{s}
}

// awaitedNow is a machine that was cut and whose tries have just been used up.
func awaitedNow() []state {
	s := cutJustNow()[1]
	s.now, s.sh.decided = s.now.Add(time.Minute), nil
	s.st.DecidedAt, s.st.Power.OffAt = nil, nil
	s.st.Awaited = &api.AwaitedRecord{Since: fence.StampOf(s.now), Reason: api.DeviceFailed}
	return []state{s}
}

// readOn is a machine that has just been read on.
func readOn(spec fencetest.Given) state {
	s, on := cutJustNow()[1], api.Read{State: api.PoweredOn, At: fence.StampOf(fencetest.Start)}
	s.spec, s.st.Power, s.st.CutOrReleased = spec, api.PowerRecord{LastRead: &on}, false
	s.sh = shadow{moved: s.sh.moved, renewed: "r0", decided: s.sh.decided, reads: []api.Read{on}}
	return s
}

func readOnBeforeADump() []state { return []state{readOn(kdumpSpec())} }

// readOnServed is such a machine whose power was cut for a request once.
func readOnServed() []state {
	s := readOn(requestSpec())
	s.st.CutOrReleased, s.sh.served, s.st.Restarts = true, true, 1
	return []state{s}
}

// readOnAgain is such a machine to which an Off was sent a minute ago.
func readOnAgain() []state { return []state{again(fencetest.Spec())} }

func readOnHeld() []state { return []state{again(heldSpec())} }

func again(spec fencetest.Given) state {
	s := cutJustNow()[1]
	s.now, s.spec = s.now.Add(time.Minute), spec
	on := api.Read{State: api.PoweredOn, At: fence.StampOf(s.now)}
	s.st.Power.OffAt, s.st.Power.LastRead, s.sh.reads = nil, &on, []api.Read{on}
	return s
}

// releasesHeld is a machine that was seen off, and whose work is to be released.
func releasesHeld() []state {
	return []state{releasedBy(state{now: fencetest.Start, spec: heldSpec(), sh: shadow{renewed: "r0"}}, api.ProofSeenOff)}
}

// cutOnce is a machine that was cut once, was switched on, and was healthy since.
func cutOnce() []state {
	return onItsWayBack(state{now: fencetest.Start, spec: fencetest.Spec(), sh: shadow{renewed: "r0"}})[1:]
}

// dumpsNow is a fence that releases pods for a dump.
func dumpsNow() []state {
	f, _, now := dumps()
	k := f.Status.Kdump
	return []state{{
		now: now, spec: fencetest.GivenBy(f), st: f.Status,
		sh: shadow{moved: f.Status.Lease.StillSince.Time, renewed: "r0", decided: f.Status.DecidedAt, dumpSince: k.Since.Time, dumpLast: k.LastSeen.Time, dumpBoot: "a"},
	}}
}

// TestEachBrokenDecideNamesItsPromise, and nothing is listed that is none.
func TestEachBrokenDecideNamesItsPromise(t *testing.T) {
	all := maps.Clone(brokenActivity)
	for _, p := range packs() {
		for name := range p.twins {
			if all[name] != nil {
				t.Errorf("two are called %q", name)
			}
		}
		maps.Copy(all, p.twins)
	}
	for name := range all {
		if breaks[name] == "" {
			t.Errorf("%q names no promise", name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(breaks)), slices.Collect(maps.Keys(near))) {
		if all[name] == nil {
			t.Errorf("%q is no broken Decide", name)
		}
	}
}

// TestHuntsFindNothingInDecide itself: what they caught a twin by would be worth nothing.
func TestHuntsFindNothingInDecide(t *testing.T) {
	hunt := func(name string, few, most int, begin ...state) {
		w := newWalker(fence.Decide)
		w.hunts, w.live, w.levels, w.most = few, false, false, most
		w.begin(begin...)
		w.walk()
		for promise, where := range w.broken {
			t.Errorf("%s: %s\n%s", name, promise, where)
		}
	}
	for name, begin := range near {
		hunt(name, 3, 60, begin()...)
	}
	specs := append(starts(), levelsSpec())
	for _, from := range asides() {
		specs = append(specs, from.specs...)
	}
	for i, spec := range specs {
		hunt("start "+strconv.Itoa(i), 11, 400, beginnings(spec)...)
	}
}
