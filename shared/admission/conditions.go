package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// tell sets one condition to True or False.
func tell(all *[]metav1.Condition, generation int64, now time.Time, typ string, ok bool, why api.Reason, msg string) {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	setCondition(all, generation, now, typ, status, why, msg)
}

func setCondition(all *[]metav1.Condition, generation int64, now time.Time, typ string, status metav1.ConditionStatus, why api.Reason, msg string) {
	meta.SetStatusCondition(all, metav1.Condition{
		Type: typ, Status: status, Reason: string(why), Message: clip.Message(msg), ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	})
}
