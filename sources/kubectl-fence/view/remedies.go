package view

import (
	"maps"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
)

// Remedy is what a person can do about a reason.
type Remedy hold.Remedy

// Nothing is the advice where nodefence goes on by itself.
const Nothing = "nothing: nodefence goes on by itself"

var (
	goesOn  = Remedy{Nothing, "kubectl fence status -w"}
	isOver  = Remedy{"nothing: this fence is over", "kubectl fence history NODE"}
	isFine  = Remedy{"nothing: this is as it should be", ""}
	noFence = Remedy{"nothing, unless a fence is wanted nevertheless; then ask for one", `kubectl fence ask NODE --reason "…"`}
	// askAnother is about a failed node whose fence a person has ended.
	askAnother = Remedy{"mend the node; or ask for another fence, because what a person has ended opens no other by itself", `kubectl fence ask NODE --reason "…"`}
	onWatch    = Remedy{"wait; or end the fence, if the node is not to be fenced", "kubectl fence abort NODE"}
)

// remedies say for each reason of a fence what a person can do; the table of package hold says it for its holds.
// infra/crd/REASONS.md has the same in short.
var remedies = map[api.Reason]Remedy{
	// Ways forward.
	api.Opened: goesOn, api.NotYet: goesOn, api.LeaseStandsStill: onWatch, api.Admitted: goesOn, api.Isolated: goesOn,
	api.WaitingForTime:     {"wait, or make the condition's duration shorter in the policy", "kubectl edit fencepolicy POLICY"},
	api.WaitingBeforePower: {"wait; or end the fence before the power is cut", "kubectl fence abort NODE"},
	api.NodeDraining:       {"wait until its pods have left, or its time is over; or ask for the fence without a drain", `kubectl fence ask NODE --drain Skip --reason "…"`},
	api.Drained:            goesOn, api.DrainCutShort: goesOn,
	api.DrainTimedOut: {"mend the workloads that the message names; or ask for the fence without a drain", `kubectl fence ask NODE --drain Skip --reason "…"`},
	api.MachineReadOn: goesOn, api.MachineReadOff: goesOn, api.PowerOffSent: goesOn, api.SeenOff: goesOn, api.ConfirmedOff: goesOn, api.ReadingDevices: goesOn,
	api.ReleaseStarted: goesOn, api.PodsPerMinute: goesOn, api.Released: goesOn, api.PowerOnSent: goesOn, api.SeenOn: goesOn,
	api.WaitingForRelease:   {"wait, or look at what the message names: finalizers or a volume driver may hold it", "kubectl get volumeattachments"},
	api.DisruptionBudget:    {"mend the workloads whose disruption budgets allow nothing, or wait for the deadline", "kubectl get poddisruptionbudgets -A"},
	api.StaysOff:            {"mend the machine and switch it on; or, if it was nodefence that switched it off, have it switched on again", "kubectl fence retry NODE"},
	api.NodeDeletionSent:    goesOn,
	api.NodeDeleted:         isOver,
	api.MachineDeletionSent: goesOn,
	api.MachineListedNoMore: goesOn,
	api.IsolatedOnly:        {"mend the machine; if it is off, say so, and its work is released", "kubectl fence confirm-off NODE"},
	api.NodeHealthy:         goesOn,
	api.WaitingForUncordon:  {"find out why the machine failed, and give the node back", "kubectl fence lift NODE"},
	api.UncordonAsked:       goesOn, api.DeviceTrusted: goesOn, api.Recovered: isOver, api.ProofExpired: goesOn, api.DecisionExpired: goesOn, api.FlowRestarted: goesOn,
	api.NextLevel:  {"mend the device of the level before; this fence goes on with the next one", "kubectl fence devices"},
	api.RetryAsked: goesOn, api.NoActivity: goesOn, api.AccessCutSent: goesOn, api.SeenCutOff: goesOn, api.AccessRestoreSent: goesOn, api.AccessRestored: goesOn,
	api.WaitingForReboot: {"reboot the node: until then it may still write to what was released", ""},
	api.KdumpOver:        goesOn, api.KdumpSeen: goesOn,

	api.RecordNotSaved: {mendRefusal, ""}, api.ReportNotWritten: {mendRefusal, ""}, api.CredentialsChanged: goesOn,

	// Holds of the gate that follow from more than the policies and the node.
	api.Paused:                 {"let those whose names stand in spec.pauseRequests of the policy end their pause", "kubectl fence resume POLICY"},
	api.Stopped:                {"let fences begin again once the reason for the stop is gone", "kubectl fence start"},
	api.StateWentBack:          {"compare what was restored with what runs, and confirm the restore", "kubectl fence confirm-restore"},
	api.PolicyDeleted:          {"apply a policy that selects the node again, if it is to be fenced", ""},
	api.PolicyChanged:          goesOn,
	api.SentBack:               goesOn,
	api.AnotherRemediator:      {"wait for the other program, or end what the message names", ""},
	api.TooManyUnhealthy:       {"mend what the unhealthy nodes have in common; raise maxUnhealthy only if so many may really be fenced", "kubectl fence status"},
	api.StormCoolDown:          {"wait until the time in the message; or end the cool-down, if what the nodes had in common is mended", `kubectl fence end-cool-down --reason "…"`},
	api.TooManyConcurrent:      {"wait for the fence that runs, or raise maxConcurrent", "kubectl fence status -w"},
	api.MostLeasesStale:        {"mend the network between nodefence, the API server and the nodes: it may be nodefence that is cut off; or, if these machines are really dead, say so", `kubectl fence lost NODE --reason "…"`},
	api.LeasePictureOld:        {"see that nodefence's source runs and reaches the API server; just after its start, wait", "kubectl get pods -n nodefence-system"},
	api.NodeFencedTooOften:     {"find out why the machine fails again and again, or raise limits.perNode", "kubectl fence history NODE"},
	api.TooManyInATime:         {"wait until the time in the message, or change limits.maxRate", "kubectl edit fencepolicy POLICY"},
	api.BudgetExhausted:        {"wait for the other fences of that budget, or change the FenceBudget in the message", "kubectl get fencebudgets"},
	api.WaitingForConfirmation: {"switch the machine off, see it off, and say so", "kubectl fence confirm-off NODE"},
	api.EtcdQuorum:             {"mend the etcd member in the message, or list etcd's nodes in controlPlane.etcdNodeNames", "kubectl edit fencepolicy POLICY"},
	api.CheckingActivity:       onWatch,
	api.TooManyChecks:          {"wait for the checks of other nodes; or raise spec.checks.concurrent of the FenceLedger, and the ResourceQuota nodefence-checks", "kubectl edit fenceledger cluster"},
	api.ActivitySeen:           {"mend the node's kubelet or its network: it is alive", ""},
	api.StorageUnreachable:     {"mend the storage: the nodes may be healthy", ""},
	api.KdumpUnderWay:          {"wait until the machine has written its dump", "kubectl fence status -w"},
	api.PauseWindow:            {"wait until the window in the message ends, or take it out of the policy", "kubectl edit fencepolicy POLICY"},
	api.PauseWindowInvalid:     {"correct the field in the message", "kubectl edit fencepolicy POLICY"},
	api.SelectorInvalid:        {"correct the field in the message", "kubectl edit fencepolicy POLICY"},
	api.DeviceBeingRead:        {"wait 20 s at most, or 40 s where calls may take longer: the device is being read", "kubectl fence status -w"},

	// Things that went wrong, or turned.
	api.HealedBeforeFence: isOver, api.Aborted: isOver, api.NodeReplaced: isOver, api.NodeGone: isOver,
	api.SignOfLife:           {"compare the device's address or outlet with the machine: the node is alive although its device says off", "kubectl fence devices -o wide"},
	api.WrongMachine:         {"correct the cable, or the ConfigMap in the message: the device answers for another machine", "kubectl fence plan NODE"},
	api.NoIdentity:           {"see that the device is the node's, and have it enrolled as what it says; or write identity= into its method", "kubectl fence enrol NODE"},
	api.SecretNotForThisHost: {"correct the Secret's list of hosts, or the address", "kubectl fence plan NODE"},
	api.DeviceFailed:         {"mend what the message says of the device", "kubectl fence plan --read NODE"},
	api.WaitingForDevice:     {"mend the device or its Secret, and have it read now; if the machine is off, confirm that (kubectl fence confirm-off NODE)", "kubectl fence retry NODE"},
	api.IsolationFailed:      {"mend the device in the message, and start the fence once more", "kubectl fence retry NODE"},
	api.RestoreFailed:        {"mend the device in the message: nodefence keeps trying", "kubectl fence plan NODE"},
	api.LeftCutOff:           {"give the machine its storage and network back by hand", "kubectl fence history NODE"},
	api.PowerOffNotSeen:      {"look at the machine and its device; if the machine is off, say so", "kubectl fence confirm-off NODE"},
	api.PowerOnNotSeen:       {"look at the device, and switch the machine on", "kubectl fence retry NODE"},
	api.BindingInvalid:       {"correct the object, key and line in the message", "kubectl fence plan NODE"},
	api.NotApproved:          {"start the fence once more, if it is still wanted: it asks for approval again", "kubectl fence retry NODE"},
	api.BootTimedOut:         {"look at the machine's console: it is on, and its node did not come back", ""},
	api.ReleaseTimedOut:      {"look at what the message names, and free it", "kubectl get volumeattachments"},
	api.RequestFailed:        {"nothing, as the node is healthy; ask again, if a fence is still wanted", `kubectl fence ask NODE --reason "…"`},
	api.MachineNotDeleted:    {"look at the controller that manages the Machine", ""},
	api.RequestExpired:       {"ask again, if the fence is still wanted", `kubectl fence ask NODE --reason "…"`},
	api.CallLost:             goesOn, api.CallNotMade: goesOn,
	api.EventLost: {"look at the log of the function that the event was for; nodefence goes on, but if the event asked for a fence, ask again", "kubectl fence bundle"},
}

// Remedies are what a person can do about each reason.
func Remedies() map[api.Reason]Remedy {
	all := maps.Clone(remedies)
	maps.Copy(all, aside)
	for _, r := range hold.Rows() {
		all[r.Reason] = Remedy(r.Remedy)
	}
	return all
}

// RemedyFor is what a person can do about a reason. Of a reason that this program does not know
// it says where to look.
func RemedyFor(r api.Reason) Remedy {
	if out, ok := Remedies()[r]; ok {
		return out
	}
	return Remedy{Do: "look " + string(r) + " up in infra/crd/REASONS.md: this kubectl-fence does not know it"}
}

// Commands that a person runs about an open fence, or better not.
const (
	again   = "kubectl fence retry NODE"
	confirm = "kubectl fence confirm-off NODE"
	read    = "kubectl fence plan --read NODE"
)

// resume is the advice r about a fence that is open. Meanwhile its devices are read for it alone. One that was given
// up begins once more by a retry, and one that leaves a device alone, which has refused the account, asks it at once.
func resume(r Remedy, f *api.NodeFence) Remedy {
	switch {
	case f.Status.Reason == api.StaysOff && !f.Status.Power.SwitchedByUs:
		// A retry is answered with NotNeeded: what others switched off is theirs to switch on (S12).
		r = Remedy{Do: "mend the machine and switch it on by its own device: nodefence has not switched it off, and does not switch it on"}
	case f.Status.Reason == api.StaysOff:
		r.Do = "mend the machine, and have it switched on again"
	case f.Status.Reason == api.DeviceDenied:
		r.Run = again
	case f.CurrentPhase() != api.Failed:
		if r.Run == read {
			r.Run = goesOn.Run
		}
	case r.Run == again:
	case r.Run == confirm:
		r.Do += "; if it is on, start the fence once more (" + again + ")"
	case r == goesOn:
		r = Remedy{"see that nodefence's functions run, and that the device answers; then start the fence once more", again}
	default:
		r = Remedy{r.Do + "; then start the fence once more", again}
	}
	return r
}
