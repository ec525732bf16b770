package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	// trailReports are the default bound; so many are of fences that ended on this day, and the others are older.
	trailReports, trailYoung = 5000, 500
	// trailActs are five changes of the stop of each of trailObjects FencePolicies.
	trailActs, trailObjects = 1000, 200
	// trailNodes is how many nodes the fences are of.
	trailNodes = 500
	// trailWriters is how many objects are created at once.
	trailWriters = 8
	// trailTries is how often an object is tried to be created: a busy machine answers late.
	trailTries = 5
)

// measureTrail fills a cluster with as many FenceReports as are kept by default, and 1,000 FenceActs. Then it measures
// the commands and the pages that read the trail, and how function policystatus bounds the trail by count and age.
func measureTrail(ctx context.Context) (err error) {
	c, err := world(ctx, 3)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	begun := time.Now()
	cut, err := fillTrail(ctx, c.Fences, begun)
	if err != nil {
		return err
	}
	fmt.Printf("%d FenceReports of %d nodes and %d FenceActs, created in %s\n", trailReports, trailNodes, trailActs, time.Since(begun).Round(time.Second))
	calls := &trace{}
	through, end, err := between(c.Cluster, calls, c.dir)
	if err != nil {
		return err
	}
	defer end()
	if err := measureHistory(ctx, through.Lab.Kubeconfig, calls); err != nil {
		return err
	}
	if err := measurePages(ctx, through.Lab.Kubeconfig, calls); err != nil {
		return err
	}
	return measurePruning(ctx, c.Cluster, cut)
}

// fillTrail creates the reports and the acts. cut is a time between the creation of the old ones and of the young ones.
func fillTrail(ctx context.Context, fences *kube.Client, now time.Time) (cut time.Time, err error) {
	err = createAll(ctx, trailReports-trailYoung, func(i int) error { return fences.CreateFenceReport(ctx, trailReport(i, now)) })
	if err == nil {
		err = createAll(ctx, trailActs, func(i int) error { return fences.CreateAct(ctx, trailAct(i, now)) })
	}
	if err != nil {
		return cut, err
	}
	cut = time.Now().Truncate(time.Second).Add(time.Second)
	if err := pause(ctx, time.Until(cut)+time.Second); err != nil { // creationTimestamp has whole seconds
		return cut, err
	}
	return cut, createAll(ctx, trailYoung, func(i int) error {
		return fences.CreateFenceReport(ctx, trailReport(trailReports-trailYoung+i, now))
	})
}

// createAll creates n objects, some at once, and returns the first error of each writer.
func createAll(ctx context.Context, n int, create func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, trailWriters)
	for w := range trailWriters {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += trailWriters {
				errs[w] = createOne(ctx, func() error { return create(i) })
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// createOne tries to create an object until the API server has it.
func createOne(ctx context.Context, create func() error) (err error) {
	for range trailTries {
		if err = create(); err == nil || errors.Is(err, kube.ErrConflict) || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// trailNode names the node of a report.
func trailNode(i int) string { return fmt.Sprintf("worker-%d", i%trailNodes) }

// trailUID is a UID as the API server makes them: its order says nothing of age.
func trailUID(of string, i int) types.UID {
	h := uint64(i+1) * 0x9e3779b97f4a7c15
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%s%08d", uint32(h), uint16(h>>32), uint16(h>>48)&0xfff, uint16(h>>20)&0xfff, of, i))
}

// trailReport is the report of a fence with all that a report of a reboot has. Of 5,000 the first one is 90 days old.
func trailReport(i int, now time.Time) *api.FenceReport {
	opened := now.Add(-time.Duration(trailReports-i) * 90 * 24 * time.Hour / trailReports)
	at := func(after time.Duration) api.Time {
		return metav1.NewMicroTime(opened.Add(after).UTC().Truncate(time.Microsecond))
	}
	soon, sent, proven, released, healthy := at(time.Second), at(2*time.Second), at(9*time.Second), at(12*time.Second), at(3*time.Minute)
	uid := trailUID("feed", i)
	r := &api.FenceReport{Spec: api.FenceReportSpec{
		NodeName: trailNode(i), NodeUID: trailUID("0de0", i%trailNodes), FenceUID: uid, FenceNumber: 1, PolicyName: "default", PolicyGeneration: 3,
		Mode: api.ModeEnforce, Action: api.ActionReboot, Trigger: api.TriggerNodeCondition, Since: at(-time.Minute),
		Why:      "Ready=Unknown since " + opened.UTC().Format(time.RFC3339) + ": Kubelet stopped posting node status",
		AskedBy:  []api.ReportAsker{{User: "system:serviceaccount:monitoring:alerts", Source: "https://alerts.example.com/rules/42", ID: string(uid), Reason: "the node answers no probe of its rack", At: soon}},
		Requests: []api.ReportRequest{{Request: api.AskedApprove, By: "somebody@example.com", Reason: "the rack is without power", Result: api.Done, At: soon}},
		OpenedAt: at(0), AdmittedAt: &soon, OffSentAt: &sent, ReleasedAt: &released, HealthyAt: &healthy, ClosedAt: at(4 * time.Minute), Cuts: 1,
		Proof: &api.ReportProof{
			Type: api.ProofSeenOff, Device: "ipmi 10.20.30.40:623", Identity: "4c4c4544-0042-3510-8051-b4c04f303532", BootID: "0b7a4cba-13f4-4b5e-9bf2-6cc0f7bd3b1c", At: proven,
			Reads: []api.ReportRead{{State: api.PoweredOff, At: at(4 * time.Second)}, {State: api.PoweredOff, At: proven}},
		},
		Released: &api.ReportRelease{StartedAt: proven, Pods: 14},
		Outcome:  api.Recovered, Message: "the node is healthy again",
	}}
	r.Name = api.ReportName(uid, 1)
	return r
}

// trailAct is one change of the stop of a FencePolicy.
func trailAct(i int, now time.Time) *api.FenceAct {
	uid := trailUID("ac70", i%trailObjects)
	a := &api.FenceAct{Spec: api.FenceActSpec{
		Object: api.ActObject{Kind: "FencePolicy", Name: fmt.Sprintf("pool-%d", i%trailObjects), UID: uid, Generation: int64(i/trailObjects + 1)},
		Field:  api.ActPause, To: "for maintenance of the rack", At: metav1.NewMicroTime(now.UTC().Truncate(time.Microsecond)), By: "somebody@example.com", Reason: "firmware", Mark: fmt.Sprint(i),
	}}
	a.Name, a.Labels = fmt.Sprintf("%s-pause-%08x", uid, i), map[string]string{api.ActLabel: string(api.ActPause)}
	return a
}

// measured are the requests of one command or page.
type measured struct {
	took []time.Duration
	// cpu is the processor time of the last run, of the program alone.
	cpu      time.Duration
	requests map[string]int
	bytes    int64
}

// addRun adds one run, with what it asked for.
func (m *measured) addRun(took, cpu time.Duration, calls []call) {
	m.took, m.cpu = append(m.took, took), cpu
	m.requests, m.bytes = map[string]int{}, 0
	for _, c := range calls {
		m.requests[c.verb+" "+c.resource]++
		m.bytes += c.bytes
	}
}

// describeRuns returns the figures of the runs; requests and bytes are those of the last one.
func (m *measured) describeRuns() string {
	n, words := 0, ""
	for _, what := range slices.Sorted(maps.Keys(m.requests)) {
		n += m.requests[what]
		words += fmt.Sprintf(", %d %s", m.requests[what], what)
	}
	return fmt.Sprintf("p50 %s ms, max %s ms, %s ms of CPU; %d requests, %d KB received%s", ms(quantile(m.took, .5)), ms(slices.Max(m.took)), ms(m.cpu), n, m.bytes>>10, words)
}
