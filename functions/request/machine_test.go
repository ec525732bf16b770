package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

const (
	machinePath = "/apis/cluster.x-k8s.io/v1beta2/namespaces/own/machines/a"
	nodePath    = "/api/v1/nodes/n"
	machine     = `{"metadata":{"namespace":"own","name":"a","uid":"m","resourceVersion":"9"},"spec":{"providerID":"p://n"},"status":{"nodeRef":{"name":"n"},"conditions":[{"type":"Ready","status":"False"}]}}`
	node        = `{"metadata":{"name":"n","uid":"u"},"spec":{"providerID":"p://n"}}`
	done        = `{"metadata":{"name":"n","uid":"f","resourceVersion":"7"},"spec":{"nodeName":"n"},"status":{"fenceNumber":3,"phase":"Fenced","proof":{},"cutOrReleased":true,"power":{"switchedByUs":true},"release":{"startedAt":"2026-01-01T00:00:00.000000Z","doneAt":"2026-01-01T00:00:00.000000Z"},"decision":{"settings":{"action":"PowerOff"},"askedBy":[{"id":"u","source":"/fencerequests/own/a"}]}}}`
)

// TestOfAMachine: what is done for an object that a MachineHealthCheck made from a template.
func TestOfAMachine(t *testing.T) {
	just := strings.Replace(done, `"doneAt":"2026-01-01T00:00:00.000000Z"`, `"doneAt":"`+time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")+`"`, 1)
	with := func(old, replaced string) string { return strings.Replace(machine, old, replaced, 1) }
	for name, c := range map[string]struct {
		object  func(*api.FenceRequest)
		machine string
		node    string
		fence   string
		refuse  string
		code    int32 // 403 by default
		want    string
		error   bool
	}{
		"new":                         {machine: machine, node: node, want: "status n@u RemediationStarted, asks n"},
		"its Machine is gone":         {node: node, want: "status  RemediationFinishedNodeNotFound"},
		"its Machine is another one":  {machine: with(`"uid":"m"`, `"uid":"x"`), node: node, want: "status  RemediationFinishedNodeNotFound"},
		"its Machine has no node":     {machine: with(`"nodeRef":{"name":"n"}`, `"phase":"Failed"`), node: node, want: "status  RemediationFinishedNodeNotFound"},
		"its node is not here":        {machine: machine, want: "status  RemediationFinishedNodeNotFound"},
		"another Machine's node":      {machine: machine, node: strings.Replace(node, "p://n", "q://n", 1), want: "status  RemediationFinishedNodeNotFound"},
		"the Machine can't be read":   {machine: machine, node: node, refuse: machinePath, code: 500, error: true},
		"the Node can't be read":      {machine: machine, node: node, refuse: nodePath, code: 500, error: true},
		"the Machine may not be read": {machine: machine, node: node, refuse: machinePath, want: "status  RemediationStarted (both folders)"},
		"the Node may not be read":    {machine: machine, node: node, refuse: nodePath, want: "status  RemediationStarted (both folders)"},
		"that, and it is withdrawn": {machine: machine, node: node, refuse: machinePath, want: "let go",
			object: func(o *api.FenceRequest) { at := metav1.Now(); o.DeletionTimestamp = &at }},
		"that, after its last word": {machine: machine, node: node, refuse: machinePath,
			object: func(o *api.FenceRequest) { o.Status = ask.Refused(o, api.NoPolicy, "no", time.Now()) }},
		"it was looked up before":      {object: func(o *api.FenceRequest) { o.Status.NodeFence.Name = "n" }, want: "status n RemediationStarted, asks n"},
		"withdrawn, the Machine gone":  {object: func(o *api.FenceRequest) { at := metav1.Now(); o.DeletionTimestamp = &at }, want: "let go"},
		"its fence has succeeded":      {machine: machine, node: node, fence: done, want: "hand back 9 Ready=False OwnerRemediated=False WaitingForRemediation, status n@u RemediationFinishedSuccessfully"},
		"that, handed back already":    {machine: with(`"type":"Ready"`, `"type":"OwnerRemediated"`), node: node, fence: done, want: "status n@u RemediationFinishedSuccessfully"},
		"that, by a node that is back": {machine: machine, node: node, fence: strings.Replace(done, "PowerOff", "Reboot", 1), want: "status n@u RemediationFinishedSuccessfully"},
		"that, without the right":      {machine: machine, node: node, fence: done, refuse: machinePath + "/status", want: "status n@u RemediationFinishedSuccessfully"},
		"that is not taken":            {machine: machine, node: node, fence: just, refuse: machinePath + "/status", code: 422, want: "status n@u RemediationFinishedSuccessfully"},
		"that, and the server errs":    {machine: machine, node: node, fence: just, refuse: machinePath + "/status", code: 500, error: true},
		"that, and another writes":     {machine: machine, node: node, fence: just, refuse: machinePath + "/status", code: 409, error: true},
		"that, for a quarter hour":     {machine: machine, node: node, fence: done, refuse: machinePath + "/status", code: 500, want: "status n@u RemediationFinishedSuccessfully"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a", UID: "u", ResourceVersion: "5", Finalizers: []string{api.RequestFinalizer},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "a", UID: "m"}}}}
			if c.object != nil {
				c.object(o)
			}
			answers := map[string]any{requestPath: o}
			for path, text := range map[string]string{machinePath: c.machine, nodePath: c.node, "/apis/nodefence.io/v1alpha1/nodefences/n": c.fence} {
				if text != "" {
					answers[path] = text
				}
			}
			var written []string
			table := kubetest.Table(answers, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				written = append(written, machineWords(t, r, raw))
				kubetest.Answer(w, after(t, answers[strings.TrimSuffix(r.URL.Path, "/status")], raw))
			})
			client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == c.refuse {
					code := cmp.Or(c.code, http.StatusForbidden)
					kubetest.Refuse(w, code, map[int32]metav1.StatusReason{403: metav1.StatusReasonForbidden, 409: metav1.StatusReasonConflict, 422: metav1.StatusReasonInvalid}[code])
					return
				}
				table(w, r)
			}))
			q := &Requester{Objects: client, Namespaces: ask.Namespaces{"own"}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Reporter: &told{}}
			reply, err := q.Handle(t.Context(), events.SourceOf("c").FenceRequestChanged("a", named, "1", time.Now()))
			if (err != nil) != c.error {
				t.Error(err)
			}
			if reply != nil {
				written = append(written, "asks "+reply.Subject())
			}
			if d := gocmp.Diff(c.want, strings.Join(written, ", ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func machineWords(t *testing.T, r *http.Request, raw []byte) string {
	t.Helper()
	var o api.FenceRequest
	var m struct {
		Metadata metav1.ObjectMeta
		Status   struct{ Conditions []metav1.Condition }
	}
	if err := errors.Join(json.Unmarshal(raw, &o), json.Unmarshal(raw, &m)); err != nil {
		t.Fatal(err)
	}
	switch r.URL.Path {
	case requestPath + "/status":
		node := strings.TrimSuffix(o.Status.NodeFence.Name+"@"+string(o.Status.NodeFence.NodeUID), "@")
		words := fmt.Sprintf("status %s %s", node, o.Status.Conditions[0].Reason)
		if todo := "add infra/knative/components/machinehealthcheck, or infra/aws/cluster/machinehealthcheck where functions run on AWS"; strings.Contains(o.Status.Conditions[0].Message, todo) {
			words += " (both folders)"
		}
		return words
	case machinePath + "/status":
		words := "hand back " + m.Metadata.ResourceVersion
		for _, is := range m.Status.Conditions {
			words += fmt.Sprintf(" %s=%s", is.Type, is.Status)
		}
		return words + " " + m.Status.Conditions[len(m.Status.Conditions)-1].Reason
	case requestPath:
		return "let go"
	}
	return r.Method + " " + r.URL.Path
}

// TestWhatMayNotBeReadIsSaidOnce: each round of resync brings the object again, until the right is there.
func TestWhatMayNotBeReadIsSaidOnce(t *testing.T) {
	o := api.FenceRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "a", UID: "u", ResourceVersion: "5",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "a", UID: "m"}}}}
	writes := 0
	client := kubetest.Client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == machinePath:
			kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		case r.Method == http.MethodGet:
			kubetest.Answer(w, o)
		default:
			writes++
			raw, _ := io.ReadAll(r.Body)
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Error(err)
			}
			kubetest.Answer(w, o)
		}
	}))
	q := &Requester{Objects: client, Namespaces: ask.Namespaces{"own"}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Reporter: &told{}}
	for round := range 3 {
		reply, err := q.Handle(t.Context(), events.SourceOf("c").FenceRequestChanged("a", named, fmt.Sprint(round), time.Now()))
		if reply != nil || err != nil || writes != 1 || ask.Ended(&o) {
			t.Errorf("round %d: %v, %v, %d writes, %+v", round, reply, err, writes, o.Status.Conditions)
		}
	}
}
