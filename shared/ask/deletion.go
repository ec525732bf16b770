package ask

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// deletesMachine: an Off was sent, and the device of this level, or of one before it, ends the
// machine by the deletion of its Machine. The Node then goes for good, whatever becomes of the fence.
// Without an Off nothing is deleted, so that a fence that only waits does not say so.
func deletesMachine(st *api.NodeFenceStatus) bool {
	levels := st.Decision.PowerLevels()
	for i := range levels {
		if levels[i].DeletesMachine() && int32(i) <= st.Power.Level && st.Power.OffCalls > 0 {
			return true
		}
	}
	return false
}
