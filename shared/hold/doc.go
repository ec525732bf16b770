// Package hold says what holds the fence of a node, as far as that follows from the policies and the node: one
// ordered table, which everybody asks. The gate holds a fence by it, a fence that has a slot is sent back by it,
// the status of a policy and the plugin name its first row, and Pods are moved off a node only where it has no
// hold.
//
// What a reader must not get wrong: the first hold answers, and a hold that it masks is true all the same. What
// must happen for a masked hold too, as the removal of our marks, is asked of All.
//
// A new hold is one row of the table, what makes it hold in holdtest, its rows in infra/crd/REASONS.md and in
// fence's WHY.md, and a broken twin of package fence. Tests named ...EachHold try every asker with each row and with
// each pair of rows, and fail while an asker lacks one.
package hold
