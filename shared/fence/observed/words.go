package observed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Fresh: a time is not older than an age, and does not lie ahead by more than two processes'
// clocks may differ. A time that lies ahead is of unknown age (S3, S30).
func Fresh(t, now time.Time, age time.Duration) bool {
	is := now.Sub(t)
	return is <= age && !Ahead(t, now)
}

// ClockSlack is how far the clocks of two processes that follow the API server's may lie
// apart: it tells its time in whole seconds.
const ClockSlack = 2 * time.Second

// Ahead: the time is of a clock that was set back since.
func Ahead(t, now time.Time) bool { return t.Sub(now) > ClockSlack }

// StampOf is a time as the API server keeps it: in UTC, to the microsecond.
func StampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}
