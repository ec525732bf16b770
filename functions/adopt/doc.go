// Package adopt answers objects of Fence Agents Remediation (FenceAgentsRemediation) as they are:
// it makes a FenceRequest of each, writes into the object what becomes of that, in the words that
// its users know, and places and removes the taint and the finalizer that belong to the object.
//
// Of a template with a sample it writes what the checks of healthy nodes have read of its devices.
//
// It is woken by its own clock, and by that of a platform, and by nothing else. No event names such
// an object, so that none can be forged, and none can get lost (S18, S19).
//
// What a reader must not get wrong: it opens no fence, calls no device and reads no Secret. What
// comes next is decided in shared/adopt/far. As long as Fence Agents Remediation itself is seen to
// run it writes nothing but Events. An object in a namespace that does not count is left alone: each two
// minutes an Event says so on each such object, of which nothing but the metadata is read.
package adopt
