package v1alpha1

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// known are the values of those fields of policies that take one of a fixed list. The schema has
// the same lists, and refuses other values; a policy may have been stored without that check (see
// NotUnderstood).
var known = map[reflect.Type][]string{
	reflect.TypeFor[Mode]():               words(ModeEnforce, ModeRequireApproval, ModeDryRun),
	reflect.TypeFor[FenceAction]():        words(ActionOff, ActionReboot, ActionIsolate, ActionWaitForOff),
	reflect.TypeFor[DrainTimeoutAction](): words(DrainThenFence, DrainThenGiveUp),
	reflect.TypeFor[UncordonRule]():       words(UncordonAutomatic, UncordonManual),
	reflect.TypeFor[ReleaseStrategy]():    words(ReleaseTaintAndDelete, ReleaseOutOfServiceTaint, ReleaseResourceDeletion, ReleaseNone),
	reflect.TypeFor[OnLast]():             words(OnLastLeaveOff, OnLastHold),
	reflect.TypeFor[ControlPlaneRule]():   words(Never, WithQuorum),
	reflect.TypeFor[WithoutNode]():        words(ReportMachine, DeleteMachine),
	reflect.TypeFor[CheckType]():          words(CheckKubelet, CheckNeighbors, CheckJob, CheckDevice),
	reflect.TypeFor[StorageCheckType]():   words(StorageTCP, StorageJob),
	reflect.TypeFor[AfterAlive]():         words(AliveFence, AliveRequireApproval),
	reflect.TypeFor[ProblemAbout]():       words(AboutNode, AboutPod),
	reflect.TypeFor[ProblemAction]():      words(ProblemAlert, ProblemAsk, ProblemFence, ProblemEvict),
	reflect.TypeFor[EvictWhat]():          words(EvictPod, EvictVolume),
	reflect.TypeFor[metav1.LabelSelectorOperator](): words(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
	reflect.TypeFor[Weekday](): {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
}

func words[T ~string](all ...T) (text []string) {
	for _, one := range all {
		text = append(text, string(one))
	}
	return text
}
