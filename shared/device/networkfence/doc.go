// Package networkfence cuts machines off from storage by csi-addons' NetworkFence,
// as Ceph's CSI drivers carry it out: the client addresses are blocklisted.
//
// What a reader must not get wrong: the object is a wish, and only its status
// tells what the storage did. A status has no generation, so that after a change
// of the wish it may be about the one before: cut off counts only for an object
// that was made so and never changed.
package networkfence
