// Package networkfence cuts machines off from storage by csi-addons' NetworkFence, as
// Ceph's CSI drivers carry it out: the client addresses are blocklisted.
//
// What a reader must not get wrong: the object is a request, and only its status tells what
// the storage did. The status has no generation. After the request changes, the status may
// still be about the request before. So cut off counts only for an object that was created
// with that request and never changed.
package networkfence
