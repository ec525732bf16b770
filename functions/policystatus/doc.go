// Package policystatus writes the statuses of policies, budgets and the ledger: at every
// tick of a clock it compares the statuses with what it sees, and writes those that have
// changed.
//
// People read the statuses, and programs do. The gate counts the missing nodes and the
// failed Machines that a policy's status lists, and reads there how long they have been
// missing or failed (S18: no event is believed). In the ledger this package writes whether
// fences are accepted. It also begins and ends the cool-down of storms that no fence asks
// about, because all nodes are healthy again or all fences were called off (S15: a storm is
// seen as one).
//
// Every ten minutes it deletes FenceReports that are too old, or too many, as the ledger's spec.reports says.
//
// Where MachineHealthChecks are adopted it also keeps their FencePolicies, after the statuses
// (package healthchecks, and MACHINEHEALTHCHECKS.md).
//
// What a reader must not get wrong: it reads the ledger before it counts, and writes the
// ledger by compare-and-swap, so that it does not end a storm that begins meanwhile (S14:
// the limits hold under every interleaving). It sends no event, calls no function and
// begins no fence.
package policystatus
