package binding

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/adopt/far"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

// others is a cluster with objects of Fence Agents Remediation in namespace n.
type others struct {
	objects   []far.Object
	templates []far.Template
	maps      []corev1.ConfigMap
	secrets   map[string]map[string]string
	hosts     string
	opened    map[string]string
	forbidden bool
}

func (o *others) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch at := strings.TrimPrefix(r.URL.Path, "/apis/"+far.GroupVersion+"/namespaces/n/"); {
	case o.forbidden && at != r.URL.Path:
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	case at == "fenceagentsremediations":
		kubetest.Answer(w, map[string]any{"items": o.objects})
		return
	case at == "fenceagentsremediationtemplates":
		kubetest.Answer(w, map[string]any{"items": o.templates})
		return
	case r.URL.Path == "/api/v1/namespaces/ns/configmaps":
		kubetest.Answer(w, corev1.ConfigMapList{Items: o.maps})
		return
	case strings.HasPrefix(at, "fenceagentsremediations/"):
		for i := range o.objects {
			if o.objects[i].Name == name {
				kubetest.Answer(w, o.objects[i])
				return
			}
		}
	case strings.HasPrefix(at, "fenceagentsremediationtemplates/"):
		for i := range o.templates {
			if o.templates[i].Name == name {
				kubetest.Answer(w, o.templates[i])
				return
			}
		}
	case strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/n/secrets/") && o.secrets[name] != nil:
		s := corev1.Secret{Data: map[string][]byte{}}
		if o.hosts != "" {
			s.Annotations = map[string]string{config.HostsAnnotation: o.hosts}
		}
		for k, v := range o.secrets[name] {
			s.Data[k] = []byte(v)
		}
		kubetest.Answer(w, s)
		return
	}
	kubetest.Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
}

// resolver has the drivers of a BMC and of Azure.
func (o *others) resolver(t *testing.T) Resolver {
	kind := device.Kind{
		Name: "ipmi",
		Params: []device.Param{
			{Name: "ip", Machine: true, Required: true}, {Name: "ipport", Machine: true, Default: "623"}, {Name: "username", Required: true},
			{Name: "password", Secret: true, Required: true}, {Name: "cipher", Default: "17"},
		},
		Address: func(p map[string]string) (string, error) { return "ipmi:" + p["ip"] + ":" + p["ipport"], nil },
		Hosts:   func(p map[string]string) ([]string, error) { return []string{p["ip"]}, nil },
		Open:    func(p map[string]string) (device.Driver, error) { o.opened = p; return nil, nil },
	}
	cloud := azure.Kind()
	cloud.Cloud = nil // no node here has a provider ID
	return Resolver{Client: kubetest.Client(t, o), Namespace: "ns", SecretsNamespace: "devices", Adopts: ask.Namespaces{"n"}, Drivers: map[string]device.Kind{"ipmi": kind, "azure": cloud}}
}

func spec(text string) (s far.Spec) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	return s
}

const (
	twoNodes = `{"agent":"fence_ipmilan","retrycount":2,"retryinterval":"7s","timeout":"90s","sharedparameters":{"--username":"u","--lanplus":""},"nodeparameters":{"--ip":{"a":"192.0.2.1","b":"192.0.2.2"}}}`
	inAzure  = `{"agent":"fence_azure_arm","sharedparameters":{"--resourceGroup":"RG","--subscriptionId":"00112233-4455-6677-8899-aabbccddeeff","--tenantId":"t"},"nodeparameters":{"--plug":{"a":"vm-a","b":"vm-b"}}}`
	oneAll   = `{"agent":"fence_ipmilan","sharedparameters":{"--username":"{{.NodeName}}","--ip":"192.0.2.1"}}`
)

func object(name, text string, change ...func(*far.Object)) far.Object {
	o := far.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("o-" + name), ResourceVersion: "7"}, Spec: spec(text)}
	for _, c := range change {
		c(&o)
	}
	return o
}

func template(name, text string) (t far.Template) {
	t.ObjectMeta = metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("t-" + name), ResourceVersion: "8"}
	t.Spec.Template.Spec = spec(text)
	return t
}

func ownMap(name, node, ip string) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{
		"config.properties": "node_name=" + node + "\npower_management=bmc\n",
		"fence-method-bmc":  "agent_name=fence_ipmilan\nip=" + ip + "\nusername=u\nsecret=s\n",
	}}
}

// TestWhichDeviceAnObjectGives: the device of node a by the objects and templates there are, or why
// it has none (S11: the device is the node's own).
func TestWhichDeviceAnObjectGives(t *testing.T) {
	over := func(o *far.Object) { at := metav1.Now(); o.DeletionTimestamp = &at }
	givenUp := func(o *far.Object) { o.Annotations = map[string]string{api.TimedOutAnnotation: "x"} }
	swap := strings.NewReplacer("192.0.2.1", "192.0.2.9").Replace(twoNodes)
	for name, c := range map[string]struct {
		is   others
		want string
	}{
		"an object":                           {others{objects: []far.Object{object("a", twoNodes)}}, "ipmi:192.0.2.1:623 by FenceAgentsRemediation n/a"},
		"a template":                          {others{templates: []far.Template{template("t", twoNodes)}}, "ipmi:192.0.2.1:623 by FenceAgentsRemediationTemplate n/t"},
		"an object before its template":       {others{objects: []far.Object{object("a", swap)}, templates: []far.Template{template("t", twoNodes)}}, "ipmi:192.0.2.9:623 by FenceAgentsRemediation n/a"},
		"an object that is over":              {others{objects: []far.Object{object("a", swap, over)}, templates: []far.Template{template("t", twoNodes)}}, "ipmi:192.0.2.1:623 by FenceAgentsRemediationTemplate n/t"},
		"one that was given up, and its next": {others{objects: []far.Object{object("a", swap, givenUp), object("a-2", twoNodes, func(o *far.Object) { o.Annotations = map[string]string{api.NodeNameAnnotation: "a"} })}}, "ipmi:192.0.2.1:623 by FenceAgentsRemediation n/a-2"},
		"two templates that say the same":     {others{templates: []far.Template{template("t", twoNodes), template("u", twoNodes)}}, "ipmi:192.0.2.1:623 by FenceAgentsRemediationTemplate n/t"},
		"two that differ":                     {others{templates: []far.Template{template("t", twoNodes), template("u", swap)}}, "FenceAgentsRemediationTemplate n/t and FenceAgentsRemediationTemplate n/u give node a different devices; that can be read in two ways: mend one of them"},
		"a ConfigMap too":                     {others{objects: []far.Object{object("a", twoNodes)}, maps: []corev1.ConfigMap{ownMap("fence-config-node-a", "a", "192.0.2.1")}}, "FenceAgentsRemediation n/a and ConfigMap fence-config-node-a are both about node a; that can be read in two ways: delete one of them"},
		"the older ConfigMap too":             {others{objects: []far.Object{object("a", twoNodes)}, maps: []corev1.ConfigMap{ownMap("fence-config-a", "a", "192.0.2.1")}}, "FenceAgentsRemediation n/a: ConfigMap fence-config-a is for node a as well; that can be read in two ways: delete one of them"},
		"nobody's":                            {others{objects: []far.Object{object("c", strings.ReplaceAll(twoNodes, `"a":`, `"c":`))}}, "no binding: there is no ConfigMap fence-config-node-a, fence-config-a, fence-config-default; looked in namespace ns"},
		"a fault":                             {others{objects: []far.Object{object("a", `{"agent":"x"}`)}}, `FenceAgentsRemediation n/a, spec.agent: "x" is not the name of a fence agent, such as fence_ipmilan`},
		"an unknown agent":                    {others{objects: []far.Object{object("a", strings.ReplaceAll(twoNodes, "fence_ipmilan", "fence_nobodys"))}}, `FenceAgentsRemediation n/a, spec.agent: unknown agent "fence_nobodys"`},
		"an unknown parameter":                {others{objects: []far.Object{object("a", strings.ReplaceAll(twoNodes, "--lanplus", "--zone"))}}, `FenceAgentsRemediation n/a, spec.sharedparameters[--zone]: unknown parameter "zone" for driver ipmi`},
		"flags with capital letters":          {others{objects: []far.Object{object("a", inAzure)}}, "azure:00112233-4455-6677-8899-aabbccddeeff/rg/vm-a by FenceAgentsRemediation n/a"},
		"one machine for all":                 {others{objects: []far.Object{object("a", oneAll)}}, "FenceAgentsRemediation n/a, spec: nothing in it chooses the machine of node a alone: give --ip or --ipport in nodeparameters, or with {{.NodeName}} in sharedparameters"},
		"a machine of another node's object":  {others{objects: []far.Object{object("a", twoNodes), object("c", strings.NewReplacer(`"a":`, `"c":`).Replace(twoNodes))}}, "FenceAgentsRemediation n/c: node c has the same device address ipmi:192.0.2.1:623 as node a; neither of them is fenced before one is mended"},
		"one machine for two nodes it lists":  {others{objects: []far.Object{object("a", strings.ReplaceAll(twoNodes, "192.0.2.2", "192.0.2.1"))}}, "FenceAgentsRemediation n/a: node b has the same device address ipmi:192.0.2.1:623 as node a"},
		"another node's template beside its object": {others{objects: []far.Object{object("a", twoNodes), object("b", strings.ReplaceAll(twoNodes, "192.0.2.2", "192.0.2.7"))}, templates: []far.Template{template("t", strings.ReplaceAll(twoNodes, "192.0.2.2", "192.0.2.1"))}},
			"FenceAgentsRemediationTemplate n/t: node b has the same device address ipmi:192.0.2.1:623 as node a"},
		"a machine of another node of a template": {others{templates: []far.Template{template("t", strings.ReplaceAll(twoNodes, "192.0.2.2", "192.0.2.1"))}}, "FenceAgentsRemediationTemplate n/t: node b has the same device address ipmi:192.0.2.1:623 as node a"},
		"a machine of another node's ConfigMap":   {others{objects: []far.Object{object("a", twoNodes)}, maps: []corev1.ConfigMap{ownMap("fence-config-node-d", "d", "192.0.2.1")}}, "ConfigMap fence-config-node-d: node d has the same device address"},
		"the own ConfigMap of a node beside it":   {others{objects: []far.Object{object("b", twoNodes)}, maps: []corev1.ConfigMap{ownMap("fence-config-node-a", "a", "192.0.2.1")}}, "ipmi:192.0.2.1:623 by nothing else"},
		"no rights":                               {others{forbidden: true}, "the FenceAgentsRemediations of namespace n can't be read, which NODEFENCE_ADOPT asks for: give the rights of infra/knative/components/far there, or those of infra/aws/cluster/far where functions run on AWS: "},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}
			bound, err := c.is.resolver(t).Bind(t.Context(), n)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				d := bound.Devices[0]
				got = d.Address + " by nothing else"
				if d.Adopted != nil {
					got = fmt.Sprintf("%s by %s %s/%s", d.Address, d.Adopted.Kind, d.Adopted.Namespace, d.Adopted.Name)
				}
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWhatAnObjectSaysOfTries: and of the release, if it asks for the fence, and then its tries are not
// multiplied by the policy's restarts. A template only says how the device is reached. The record
// names the object, and has no secret (S29).
func TestWhatAnObjectSaysOfTries(t *testing.T) {
	literal := strings.ReplaceAll(twoNodes, `"--lanplus":""`, `"--password":"hunter-2"`)
	for want, is := range map[string]others{
		"2 7s 1m30s, then 0 OutOfServiceTaint": {objects: []far.Object{object("a", literal, func(o *far.Object) { o.Spec.RemediationStrategy = far.OutOfServiceTaint })}},
		"2 7s 1m30s, then 3 TaintAndDelete":    {templates: []far.Template{template("t", literal)}},
	} {
		bound, err := is.resolver(t).Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		var p api.ResolvedPolicy
		p.Settings.Release.Strategy, p.Settings.Power.Restarts = api.ReleaseTaintAndDelete, 3
		bound.Over(&p)
		power := p.Settings.Power
		got := fmt.Sprintf("%d %s %s, then %d %s", power.Attempts, power.RetryInterval.Duration, power.OffTimeout.Duration, power.Restarts, p.Settings.Release.Strategy)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		text, _ := json.Marshal(bound.Devices)
		if strings.Contains(string(text), "hunter") || !strings.Contains(string(text), `"key":"spec.sharedparameters[--password]"`) || strings.Contains(string(text), "fence-config") {
			t.Errorf("%s", text)
		}
	}
}

// TestSecretsOfAnObject are read for one call, in its own namespace: the node's own wins over the
// shared one, which need not exist unless it is named (S29: no secret is shown).
func TestSecretsOfAnObject(t *testing.T) {
	named := strings.Replace(twoNodes, `"retrycount":2`, `"sharedSecretName":"s","nodeSecretNames":{"a":"own"}`, 1)
	// Older CRDs wrote this name into each object that named no Secret.
	unchosen := strings.Replace(named, `"s"`, `"fence-agents-credentials-shared"`, 1)
	base := map[string]string{"ip": "192.0.2.1", "ipport": "623", "username": "u", "cipher": "17"}
	with := func(more ...string) map[string]string {
		all := maps.Clone(base)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	type secrets map[string]map[string]string
	for name, c := range map[string]struct {
		spec    string
		secrets secrets
		hosts   string
		want    map[string]string
		err     string
	}{
		"the default one":             {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "hunter-2"}}, want: with("password", "hunter-2")},
		"with the node's name":        {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "x-{{.NodeName}}"}}, want: with("password", "x-a")},
		"the node's own wins":         {spec: named, secrets: secrets{"s": {"--password": "x", "--cipher": "3"}, "own": {"--password": "hunter-2"}}, want: with("password", "hunter-2", "cipher", "3")},
		"in the spec":                 {spec: strings.ReplaceAll(twoNodes, `"--lanplus":""`, `"--password":"hunter-2"`), want: with("password", "hunter-2")},
		"what is no parameter":        {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "x", "note": "mine"}}, want: with("password", "x")},
		"none":                        {spec: twoNodes, err: "FenceAgentsRemediation n/a does not give --password, and none of its Secrets exists: add key --password there"},
		"it lacks the key":            {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"hunter-2": "x"}}, err: "FenceAgentsRemediation n/a does not give --password, and Secret fence-agents-credentials-shared of namespace n does not either: add key --password there"},
		"the name of older CRDs":      {spec: unchosen, secrets: secrets{"own": {"--password": "hunter-2"}}, want: with("password", "hunter-2")},
		"that name, and it is there":  {spec: unchosen, secrets: secrets{far.DefaultSecret: {"--cipher": "3"}, "own": {"--password": "hunter-2"}}, want: with("password", "hunter-2", "cipher", "3")},
		"a named one is missing":      {spec: named, secrets: secrets{"own": {"--password": "x"}}, err: "secret n/s does not exist, which FenceAgentsRemediation n/a names"},
		"the node's is missing":       {spec: named, secrets: secrets{"s": {"--password": "x"}}, err: "secret n/own does not exist, which FenceAgentsRemediation n/a names"},
		"in the spec and in it":       {spec: strings.ReplaceAll(twoNodes, `"--lanplus":""`, `"--password":"hunter-2"`), secrets: secrets{far.DefaultSecret: {"--password": "hunter-2"}}, err: "Secret n/fence-agents-credentials-shared, key --password: it is given in spec.sharedparameters[--password] of FenceAgentsRemediation n/a as well; delete one of them"},
		"which machine (S11)":         {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "x", "--ip": "192.0.2.9"}}, err: "Secret n/fence-agents-credentials-shared, key --ip: it says which machine is meant, which a Secret never does; give it in spec.nodeparameters and delete it here"},
		"the action":                  {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--action": "off"}}, err: "Secret n/fence-agents-credentials-shared, key --action: the action is given in the spec's parameters only"},
		"two keys of one":             {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "x", "--passwd": "y"}}, err: "Secret n/fence-agents-credentials-shared, key --password: another key of this Secret is the same parameter; delete one of them"},
		"a line break":                {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "hunter-2\n"}}, err: "Secret n/fence-agents-credentials-shared, key --password: the value has control characters, or a line break at its end; write it with printf %s, or as stringData"},
		"a bad template":              {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "{{hunter-2"}}, err: "Secret n/fence-agents-credentials-shared, key --password: the template can't be read: only {{.NodeName}} is filled in"},
		"for its host":                {spec: twoNodes, hosts: "192.0.2.0/24", secrets: secrets{far.DefaultSecret: {"--password": "x"}}, want: with("password", "x")},
		"not for its host (S29)":      {spec: twoNodes, hosts: "192.0.2.7", secrets: secrets{far.DefaultSecret: {"--password": "x"}}, err: "SecretNotForThisHost: Secret fence-agents-credentials-shared, key --password: not to be sent to 192.0.2.1; if that is its device: kubectl -n n annotate secret fence-agents-credentials-shared --overwrite nodefence.io/hosts='192.0.2.7,192.0.2.1'"},
		"the object changed its mind": {spec: twoNodes, secrets: secrets{far.DefaultSecret: {"--password": "x"}}, want: with("password", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			is := &others{objects: []far.Object{object("a", c.spec)}, secrets: c.secrets, hosts: c.hosts}
			b := is.resolver(t)
			bound, err := b.Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
			if err != nil {
				t.Fatal(err)
			}
			if name == "the object changed its mind" { // what the record has stays
				is.objects[0].Spec.NodeParameters["--ip"]["a"] = "192.0.2.66"
			}
			_, err = b.Open(t.Context(), &bound.Devices[0])
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff(c.err, text); d != "" {
				t.Error(d)
			}
			if strings.Contains(text, "hunter") {
				t.Error("a secret is shown (S29)")
			}
			if d := cmp.Diff(c.want, is.opened); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTheObjectIsGone, and its fence was begun: the record still names its Secrets, by which it runs to
// its end (S25). A password that the object itself had is lost with it, and another object of its name
// is not it.
func TestTheObjectIsGone(t *testing.T) {
	named := strings.Replace(twoNodes, `"retrycount":2`, `"nodeSecretNames":{"a":"own"}`, 1)
	for text, want := range map[string]string{
		named: "",
		strings.ReplaceAll(twoNodes, `"--lanplus":""`, `"--password":"hunter-2"`): "FenceAgentsRemediation n/a is gone, and no longer gives --password, and none of its Secrets exists: add key --password there",
	} {
		is := &others{objects: []far.Object{object("a", text)}, secrets: map[string]map[string]string{"own": {"--password": "x"}}}
		b := is.resolver(t)
		bound, err := b.Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		is.objects[0].UID = "another"
		is.objects[0].Spec.NodeSecretNames = map[string]string{"a": "anothers"}
		for range 2 {
			_, err := b.Open(t.Context(), &bound.Devices[0])
			if got := fmt.Sprint(err); err != nil && got != want || err == nil && (want != "" || is.opened["password"] != "x") {
				t.Errorf("%v, %v", err, is.opened)
			}
			is.objects, is.opened = nil, nil
			// What the record has is not changed by a Secret, now that no spec has it (S3, S11).
			is.secrets["own"]["--username"] = "root"
			if _, err := b.Open(t.Context(), &bound.Devices[0]); want == "" && (err == nil || !strings.Contains(err.Error(), "key --username: the record of the fence has it already")) {
				t.Error(err)
			}
			delete(is.secrets["own"], "--username")
			is.opened = nil
		}
	}
}

// TestThePlanNamesTheObject and its fields, where it would name a ConfigMap and its lines.
func TestThePlanNamesTheObject(t *testing.T) {
	is := &others{objects: []far.Object{object("a", strings.ReplaceAll(twoNodes, `"--lanplus":""`, `"--password":"hunter-2"`))}}
	planner, err := is.resolver(t).Planner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := planner.Plan(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ip": "FenceAgentsRemediation n/a, spec.nodeparameters[--ip][a]", "username": "FenceAgentsRemediation n/a, spec.sharedparameters[--username]",
		"password": "FenceAgentsRemediation n/a, spec.sharedparameters[--password]", "ipport": "the default of driver ipmi", "cipher": "the default of driver ipmi",
	}
	if d := cmp.Diff(want, p.Origins); d != "" {
		t.Error(d)
	}
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "ConfigMap") || strings.Contains(string(text), "hunter") || !strings.Contains(string(text), "name that in sharedSecretName") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestARebootThatItsProgramHadBegun is written into the device: the machine is on in the end (S12). A new object, an
// object whose action is off, a template, and an object that is over say nothing of the kind.
func TestARebootThatItsProgramHadBegun(t *testing.T) {
	began := func(o *far.Object) {
		o.Status.Conditions = []metav1.Condition{{Type: api.ConditionProcessing, Status: metav1.ConditionTrue, Reason: "RemediationStarted", Message: "the node was found"}}
	}
	off := strings.Replace(twoNodes, `"--lanplus":""`, `"--lanplus":"","--action":"off"`, 1)
	named := func(o *far.Object) { o.Annotations = map[string]string{api.NodeNameAnnotation: "a"} }
	for name, c := range map[string]struct {
		is   others
		want bool
	}{
		"it had begun":              {others{objects: []far.Object{object("a", twoNodes, began)}}, true},
		"a new object":              {others{objects: []far.Object{object("a", twoNodes)}}, false},
		"the action is off":         {others{objects: []far.Object{object("a", off, began)}}, false},
		"a template":                {others{templates: []far.Template{template("t", twoNodes)}}, false},
		"the second of two objects": {others{objects: []far.Object{object("a", twoNodes), object("a-2", twoNodes, began, named)}}, true},
		"it was given up": {others{objects: []far.Object{object("a", twoNodes, began, func(o *far.Object) { o.Annotations = map[string]string{api.TimedOutAnnotation: "x"} })},
			templates: []far.Template{template("t", twoNodes)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bound, err := c.is.resolver(t).Bind(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}})
			if err != nil || len(bound.Devices) != 1 {
				t.Fatal(err, bound)
			}
			if got := bound.Devices[0].Adopted.RebootBegun; got != c.want {
				t.Errorf("begun: %v", got)
			}
		})
	}
}
