package events

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// reportSample is a report in which nothing is left out.
func reportSample() *api.FenceReport {
	t := metav1.NewMicroTime(at)
	const uid = "11111111-2222-3333-4444-555555555555"
	return &api.FenceReport{
		ObjectMeta: metav1.ObjectMeta{Name: api.ReportName(uid, 2)},
		Spec: api.FenceReportSpec{
			NodeName: "node-7", NodeUID: "99999999-8888-7777-6666-555555555555", FenceUID: uid, FenceNumber: 2,
			PolicyName: "default", PolicyGeneration: 3, Mode: api.ModeEnforce, Action: api.ActionReboot,
			Trigger: api.TriggerNodeCondition, Since: t, Why: "Ready=Unknown since 2026-01-02T03:04:05Z",
			AskedBy:  []api.ReportAsker{{User: "anna", Source: "/racks/west", ID: "rack-7-2026-01-02", Reason: "no cooling", At: t}},
			Requests: []api.ReportRequest{{Request: api.AskedConfirmOff, By: "anna", Reason: "plug pulled", Result: api.Done, At: t}},
			OpenedAt: t, AdmittedAt: &t, OffSentAt: &t, ReleasedAt: &t, HealthyAt: &t, ClosedAt: t, Cuts: 1,
			Proof: &api.ReportProof{Type: api.ProofConfirmed, Device: "ipmi 10.0.0.7:623 (power-1)", Identity: "a", BootID: "b", By: "anna", At: t,
				Reads: []api.ReportRead{{State: api.PowerUnknown, At: t}, {State: api.PowerUnknown, At: t}}},
			Released: &api.ReportRelease{StartedAt: t, Pods: 3, PodsLeft: 1, AttachmentsLeft: 1, TimedOut: true, Kept: "shop/db-0"},
			Outcome:  api.Recovered, Message: "the node is back, and nothing of ours is left on it",
		},
	}
}
