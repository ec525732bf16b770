package admission

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// refuse returns the verdict that a fence does not begin now, with the reason and the time to the next question.
func refuse(why api.Reason, message string, again time.Duration) *observed.Verdict {
	return &observed.Verdict{Reason: why, Message: message, Again: again}
}

// How soon a held fence asks again.
const (
	askStorm = 10 * time.Second
	// The source wakes the next fence when another one frees its slot. So this is for when there is
	// no source. Ninety fences that wait are five looks a second.
	askConcurrent = 20 * time.Second
)

// CensusLag is how long the source's watches may be silent before it writes no census:
// an API server tells of its progress once a minute.
const CensusLag = 90 * time.Second

// slotKept is how long a slot that nothing came of counts against others: by the calls for which
// it was reserved, whatever the process that counts is set to (S14).
func slotKept(r api.Reservation) time.Duration {
	return facts.ReservationKept + api.LongerCalls(r.CallLimit())
}

// listed is as much of a list as a status has room for, and how long it is.
func listed[T any](all []T) ([]T, int32) {
	return all[:min(len(all), maxHeld)], int32(len(all))
}

// maxHeld bounds a policy's list of nodes.
const maxHeld = 64
