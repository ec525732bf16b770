package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// shadow is what really happened, kept beside the record, so that a broken
// Decide can't hide its fault by what it writes down.
type shadow struct {
	// reads are the first and the last of the latest row of equal answers, all of readOf.
	reads  []api.Read
	readOf string
	// cutOff: what must be cut off before the power is cut was read so last.
	cutOff bool
	wrong  bool
	// reported is since when the report of the fence is tried to be written.
	reported time.Time
	// cut: our own Off was asked for after a read of on, and not undone since.
	cut bool
	// backOn: the machine was on since another program had begun to reboot it.
	backOn bool
	// moved is when the Lease was last seen to move, renewed its mark.
	moved   time.Time
	renewed string
	// effect is until when a call of ours may take effect, by level.
	effect [2]time.Time
	// on: our On was the last word; late: a machine that is found off in recovery may
	// be so by us. sent is when our last Off was, until when our last word may take effect.
	on, late    bool
	sent, until time.Time
	// decided is when the gate really said yes.
	decided *api.Time
	// fresh: the Lease still moved when our Off was sent.
	fresh bool
	// off are the levels that were told to cut the power and did not read on since.
	off [2]bool
	// served: power was cut or work released, so that a request is used up.
	served bool
	// kept: a healthy node was held for a person with our cordon on it, and has been healthy since.
	kept bool
	// isolated is since when the looks show the taint, where the policy counts from there.
	isolated time.Time
	// sick is since when the policy's condition has held; zero if it does not.
	sick time.Time
	// deleted is when pods were last asked to go, where that is counted.
	deleted time.Time
	witnesses
	drained
	counted
	joins
	deviceAnswers
	lies lies
	// dumpSince is when a dump of this node was first heard of, dumpLast when its
	// last message came.
	dumpSince, dumpLast time.Time
	// dumpBoot is the boot that the first of them was of.
	dumpBoot string
	// machine: its Machine was to be remediated when somebody last looked.
	machine bool
	// asked is how often the deletion of a Machine was asked for.
	asked int32
	// freed is what the last release rested on, boot the boot that it was about.
	freed api.ProofKind
	boot  string
	// restored is when the record was last taken back to what it once was.
	restored time.Time
}

// State is one fence at one time, and what really happened to it.
type State struct {
	st   api.NodeFenceStatus
	now  time.Time
	spec fencetest.Given
	sh   shadow
	// was are the records of the stages that it came through, where they matter.
	was []api.NodeFenceStatus
}

// look is one combination of everything that is outside the record.
type look struct {
	dt                    time.Duration
	seen                  observed.Look
	abort, retry, confirm bool
	uncordon              bool
	// trust: a person says that the device may be believed after its cut was refuted.
	trust bool
	// withdrawn: the request that came last is withdrawn.
	withdrawn bool
}

// climbed: a second level is or was in use. A second pass over both is not walked,
// nor one that an event asked for: they are the first one over again. Before that a node of one level and
// one of two are in the same states, and both ways to go on are taken.
func climbed(s *State) bool {
	return s.st.Power.Level > 0 || s.sh.off[1] || slices.Contains(s.st.Power.Cut, 1)
}
