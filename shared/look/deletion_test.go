package look_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

// TestANodeWhoseMachineIsBeingDeleted is known by its annotations, which count only
// where the Machine names the node too (S11, S18).
func TestANodeWhoseMachineIsBeingDeleted(t *testing.T) {
	const (
		openshift = "/apis/machine.openshift.io/v1beta1/namespaces/m/machines/x"
		capi2     = "/apis/cluster.x-k8s.io/v1beta2/namespaces/m/machines/x"
		capi1     = "/apis/cluster.x-k8s.io/v1beta1/namespaces/m/machines/x"
		ofOS      = `"machine.openshift.io/machine":"m/x"`
		ofCAPI    = `"cluster.x-k8s.io/machine":"x","cluster.x-k8s.io/cluster-namespace":"m"`
		going     = `"deletionTimestamp":"2026-05-01T12:00:00Z"`
		mine      = `"nodeRef":{"name":"a"}`
	)
	machine := func(meta, status string) string {
		return `{"metadata":{"name":"x","namespace":"m"` + meta + `},"status":{` + status + `}}`
	}
	goes := machine(`,`+going, mine)
	none, begun, released := api.NodeFenceStatus{}, api.NodeFenceStatus{}, api.NodeFenceStatus{}
	begun.Power.SwitchedByUs, released.Release.StartedAt = true, &metav1.MicroTime{Time: noon}
	held := "its Machine m/x has been in deletion since 2026-05-01T12:00:00Z"
	for name, c := range map[string]struct {
		annotations string
		machines    map[string]string
		refused     map[string]int32
		status      api.NodeFenceStatus
		want        string
		asks        []string
	}{
		"of no Machine":                        {"", map[string]string{openshift: goes}, nil, none, "", nil},
		"OpenShift":                            {ofOS, map[string]string{openshift: goes}, nil, none, held, []string{openshift}},
		"Cluster API":                          {ofCAPI, map[string]string{capi2: goes}, nil, none, held, []string{capi2}},
		"an older Cluster API":                 {ofCAPI, map[string]string{capi1: goes}, nil, none, held, []string{capi2, capi1}},
		"a Machine that stays":                 {ofOS, map[string]string{openshift: machine("", mine)}, nil, none, "", []string{openshift}},
		"a Machine that is gone":               {ofOS, nil, nil, none, "", []string{openshift}},
		"no such kind":                         {ofCAPI, nil, nil, none, "", []string{capi2, capi1}},
		"another's dying Machine":              {ofOS, map[string]string{openshift: machine(`,`+going, `"nodeRef":{"name":"b"}`)}, nil, none, "", []string{openshift}},
		"a dying Machine of no node":           {ofOS, map[string]string{openshift: machine(`,`+going, "")}, nil, none, "", []string{openshift}},
		"another's Machine beside its own":     {ofOS + "," + ofCAPI, map[string]string{openshift: machine("", `"nodeRef":{"name":"b"}`), capi2: goes}, nil, none, held, []string{openshift, capi2}},
		"half an annotation":                   {`"machine.openshift.io/machine":"x"`, map[string]string{openshift: goes}, nil, none, "", nil},
		"no namespace":                         {`"cluster.x-k8s.io/machine":"x"`, map[string]string{capi2: goes}, nil, none, "", nil},
		"a path":                               {`"machine.openshift.io/machine":"m/../../x"`, nil, nil, none, "", nil},
		"a path for a namespace":               {`"cluster.x-k8s.io/machine":"x","cluster.x-k8s.io/cluster-namespace":".."`, nil, nil, none, "", nil},
		"without the right to look":            {ofOS, nil, map[string]int32{openshift: http.StatusForbidden}, none, "nobody knows whether its Machine m/x is being deleted: get " + openshift, []string{openshift}},
		"nothing converts it":                  {ofCAPI, map[string]string{capi1: goes}, map[string]int32{capi2: http.StatusInternalServerError}, none, held, []string{capi2, capi1}},
		"nothing converts it, and it stays":    {ofCAPI, map[string]string{capi1: machine("", mine)}, map[string]int32{capi2: http.StatusInternalServerError}, none, "", []string{capi2, capi1}},
		"no version can be read":               {ofCAPI, nil, map[string]int32{capi2: http.StatusInternalServerError, capi1: http.StatusInternalServerError}, none, "nobody knows", []string{capi2, capi1}},
		"the API server is not able":           {ofOS, nil, map[string]int32{openshift: http.StatusServiceUnavailable}, none, "error", []string{openshift}},
		"after the first Off (S25)":            {ofOS, map[string]string{openshift: goes}, nil, begun, "", nil},
		"after work was released (S25)":        {ofOS, map[string]string{openshift: goes}, nil, released, "", nil},
		"an annotation with nothing behind it": {`"machine.openshift.io/machine":""`, nil, nil, none, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &served{objects: maps.Clone(c.machines), refused: c.refused}
			if s.objects == nil {
				s.objects = map[string]string{}
			}
			s.objects[nodePath] = `{"metadata":{"name":"a","uid":"u","annotations":{` + c.annotations + `}}}`
			client := s.client(t)
			f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: c.status}
			f.Status.Decision.NodeUID = "u"
			var seen observed.Look
			err := look.Node(t.Context(), client.NewReader(0), f, &seen)
			if err == nil {
				err = look.Deletion(t.Context(), client.NewReader(0), f, &seen)
			}
			if (err != nil) != (c.want == "error") {
				t.Fatal(err)
			}
			if got := seen.Node.Deleting; err == nil && (!strings.HasPrefix(got, c.want) || c.want == "" && got != "") {
				t.Errorf("%q, want %q", got, c.want)
			}
			var asks []string
			for _, path := range s.asked {
				if strings.HasPrefix(path, "/apis/") {
					asks = append(asks, path)
				}
			}
			if strings.Join(asks, " ") != strings.Join(c.asks, " ") {
				t.Errorf("asked for %v, want %v", asks, c.asks)
			}
		})
	}
}

// TestTheClusterOfTheMachinesIsAway: nobody knows then whether the Machine is being deleted, and the fence
// waits and says so, until its first Off. A node that names no Machine there goes on.
func TestTheClusterOfTheMachinesIsAway(t *testing.T) {
	for annotations, want := range map[string]string{
		`"cluster.x-k8s.io/machine":"x","cluster.x-k8s.io/cluster-namespace":"m"`: "nobody knows whether its Machine m/x is being deleted: ask the cluster that has the Machines: ",
		"": "",
	} {
		s := &served{objects: map[string]string{nodePath: `{"metadata":{"name":"a","uid":"u","annotations":{` + annotations + `}}}`}}
		client := s.client(t)
		if err := client.ReadMachinesAt(&rest.Config{Host: "http://127.0.0.1:1"}, types.NamespacedName{Namespace: "m", Name: "c"}); err != nil {
			t.Fatal(err)
		}
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
		f.Status.Decision.NodeUID = "u"
		seen := observed.Look{Node: observed.Node{Exists: true}}
		if err := look.Deletion(t.Context(), client.NewReader(0), f, &seen); err != nil {
			t.Fatal(err)
		}
		if got := seen.Node.Deleting; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
