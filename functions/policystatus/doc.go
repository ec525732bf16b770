// Package policystatus writes how policies, budgets and the ledger stand: at every tick of a
// clock it compares their statuses with what it sees, and writes those that have changed.
//
// People read the statuses, and programs do. The gate counts the missing nodes and the failed
// Machines that a policy's status lists (S18), and takes from there for how long they have
// been so. On the ledger it writes whether fences are accepted, and it begins and ends the
// cool-down of storms that no fence asks about, because all have healed or were called
// off (S15).
//
// What a reader must not get wrong: it reads the ledger before it counts, and writes it by
// compare-and-swap, so that a storm that begins meanwhile is not ended (S14). It sends no
// event, calls no function and begins no fence.
package policystatus
