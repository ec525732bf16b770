package fence

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func (d *decision) at(after time.Duration) *api.Time { return d.stamp(d.now.Add(after)) }

func (d *decision) time() api.Time { return *d.at(0) }

// stamp cuts to the microseconds that the API server keeps, so that what was
// saved and read again equals what was decided.
func (d *decision) stamp(t time.Time) *api.Time {
	m := metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
	return &m
}

func (d *decision) since(t *api.Time) time.Duration {
	if t == nil {
		return 1<<63 - 1 // never: older than any limit
	}
	return d.now.Sub(t.Time)
}

// within: not older than that, and not of a time that is still to come either. Where
// the API server's clock was set back, what was seen before is of unknown age (S3, S30).
func (d *decision) within(t *api.Time, age time.Duration) bool {
	return t != nil && Fresh(t.Time, d.now, age)
}

func Fresh(t, now time.Time, age time.Duration) bool {
	is := now.Sub(t)
	return is <= age && !ahead(t, now)
}

// ahead: the time is of a clock that was set back since.
func ahead(t, now time.Time) bool { return t.Sub(now) > clockSlack }

// describe derives the words that people and other systems read.
func (d *decision) describe() {
	st := &d.st
	st.Views.NodeFencing = api.NodeFencingView{Step: st.Phase.Step(), Status: st.Phase.Status()}
	d.scheduled()
	d.conditions()
}

func (d *decision) fenceUID() types.UID { return types.UID(d.uid) }

func StampOf(t time.Time) api.Time {
	return metav1.NewMicroTime(t.UTC().Truncate(time.Microsecond))
}
