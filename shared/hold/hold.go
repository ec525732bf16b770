package hold

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Input has the facts about one node that the rows of the table read.
type Input struct {
	// Policy is the result of all policies that select the node.
	Policy api.ResolvedPolicy
	// Node is the Node object, just read.
	Node observed.Node
	// NotUnderstood names a policy with unknown fields that may be about the node; empty if there is none.
	NotUnderstood string
	// Self: the asking program runs on the node.
	Self bool
	// SaidOff: a person's word that the machine is off waits for an answer.
	SaidOff bool
	// Asked: a person has asked for this fence.
	Asked bool
	// OnlyAsked: no condition of the policy holds, and the fence ends once the request for it is old.
	OnlyAsked bool
	// Now is the time of the question.
	Now time.Time
	// OpenedAt is when the fence was opened, by the clock of nodefence; zero if the question is about a node without a
	// fence.
	OpenedAt time.Time
	// Approved: a person has approved this fence.
	Approved bool
	// Refuted is the power cut of the node that the boot ID refutes, until a person trusts its device; nil if there is
	// none.
	Refuted *api.Refutation
}

// Group is the source of a hold. A fence asks for each group at another step.
type Group int

// The groups, in the order of the table.
const (
	// ByPolicy: the policies leave the node alone, or contradict each other, or are not understood.
	ByPolicy Group = iota
	// ByNode: the node is not to be fenced at this time.
	ByNode
	// ByMode: the policy only reports, or asks a person.
	ByMode
)

// Row is one row of the table.
type Row struct {
	Reason api.Reason
	Group  Group
	// When returns the message of the hold; empty if the row does not hold the node.
	When func(Input) string
	// Unmark: nodefence's marks leave the held node.
	Unmark bool
	// Unsure: nobody knows the will of the policies, so no mark is removed because of a policy.
	Unsure bool
	// Permanent: neither time nor the recovery of other nodes ends the hold.
	Permanent bool
	// Intended: somebody wants the node not to be fenced, and a healthy node is as it should be.
	Intended bool
	// Exempt: the policies keep every fence from the node on purpose, so the node's devices need not work.
	Exempt bool
	// HostHA is the state of the held node in Host HA: HostHADisabled or HostHAIneligible; empty if the hold does
	// not change the state.
	HostHA api.HostHA
	// CutOnly: the hold is about the cut of the machine alone.
	CutOnly bool
	// Again is the time until a held fence asks again.
	Again time.Duration
	// Means tells what the reason means, in Markdown.
	Means string
	// Remedy is what a person can do.
	Remedy Remedy
	// Docs is the page about the hold, by its path from the root of the repository; empty if there is none.
	Docs string
}

// Remedy is what a person can do about a reason.
type Remedy struct {
	// Do is a clause: "wait until …".
	Do string
	// Run is a command for it; NODE and POLICY stand for the names at hand. Empty if there is none.
	Run string
}

// Hold is a row that holds a node.
type Hold struct {
	Row
	Message string
}

// Rows returns the table.
func Rows() []Row { return slices.Clone(table) }

// First returns the first hold of the given groups, in the order of the table; nil if none holds.
func First(in Input, of ...Group) *Hold {
	if all := All(in, of...); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// All returns every hold of the given groups, in the order of the table: the first one masks the others.
func All(in Input, of ...Group) (all []Hold) {
	for _, r := range table {
		if !slices.Contains(of, r.Group) {
			continue
		}
		if words := r.When(in); words != "" {
			all = append(all, Hold{Row: r, Message: words})
		}
	}
	return all
}

// Unmarks tells whether nodefence's marks leave the node under the given holds: at least one hold has Unmark, masked or
// not, and none has Unsure.
func Unmarks(all []Hold) bool {
	return !slices.ContainsFunc(all, func(h Hold) bool { return h.Unsure }) && slices.ContainsFunc(all, func(h Hold) bool { return h.Unmark })
}

// Permanent tells whether neither time nor the recovery of other nodes ends a hold of the reason.
func Permanent(why api.Reason) bool { return has(why, func(r Row) bool { return r.Permanent }) }

// Intended tells whether somebody wants a node that is held for the reason not to be fenced.
func Intended(why api.Reason) bool { return has(why, func(r Row) bool { return r.Intended }) }

func has(why api.Reason, what func(Row) bool) bool {
	return slices.ContainsFunc(table, func(r Row) bool { return r.Reason == why && what(r) })
}
