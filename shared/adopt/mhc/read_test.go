package mhc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	openshift = OpenShift + "/v1beta1"
	older     = ClusterAPI + "/v1beta1"
	newer     = ClusterAPI + "/v1beta2"
)

// object is a MachineHealthCheck with this spec.
func raw(spec string) []byte {
	return []byte(`{"metadata":{"namespace":"ns","name":"workers","uid":"u","generation":3},"spec":` + spec + `}`)
}

// words are what was read of a spec.
func words(c *Check) string {
	var all []string
	for _, u := range c.Conditions {
		all = append(all, fmt.Sprint(u.Type, "=", u.Status, " ", *u.Duration))
	}
	return fmt.Sprintf("%v; %s; startup %s; labels %v %v", strings.Join(all, ", "), c.Limit, c.Startup, c.Selector.MatchLabels, c.Selector.MatchExpressions)
}

// TestRead: the same, in the words of the three versions, and their defaults.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ version, spec, want string }{
		"openshift": {openshift, `{"selector":{"matchLabels":{"role":"worker"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"300s"},{"type":"Ready","status":"False","timeout":"1.5h"}],"maxUnhealthy":"40%","nodeStartupTimeout":"20m"}`,
			"Ready=Unknown 5m0s, Ready=False 1h30m0s; 40%; startup 20m0s; labels map[role:worker] []"},
		"openshift, defaults":             {openshift, `{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"0s"}]}`, "Ready=Unknown 0s; 100%; startup 10m0s; labels map[] []"},
		"openshift, a number in quotes":   {openshift, `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}],"maxUnhealthy":"3"}`, "R=True 5m0s; 3; startup 10m0s; labels map[] []"},
		"openshift, no startup check":     {openshift, `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}],"nodeStartupTimeout":"0"}`, "R=True 5m0s; 100%; startup 0s; labels map[] []"},
		"of two, the shorter one":         {openshift, `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"},{"type":"R","status":"True","timeout":"2m"},{"type":"R","status":"True","timeout":"9m"}],"maxUnhealthy":0}`, "R=True 2m0s; 0; startup 10m0s; labels map[] []"},
		"the longest times":               {openshift, `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"24h"}],"nodeStartupTimeout":"24h"}`, "R=True 24h0m0s; 100%; startup 24h0m0s; labels map[] []"},
		"the proposal's minHealthy":       {openshift, `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"1s"}],"minHealthy":"51%"}`, "R=True 1s; minHealthy 51%; startup 10m0s; labels map[] []"},
		"cluster API v1beta1":             {older, `{"clusterName":"c","selector":{"matchLabels":{"pool":"a"}},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"5m0s"}],"maxUnhealthy":2,"nodeStartupTimeout":"1m0s"}`, "Ready=Unknown 5m0s; 2; startup 1m0s; labels map[cluster.x-k8s.io/cluster-name:c pool:a] []"},
		"cluster API v1beta1, a range":    {older, `{"clusterName":"c","selector":{"matchExpressions":[{"key":"pool","operator":"In","values":["a"]}]},"unhealthyConditions":[{"type":"Ready","status":"Unknown","timeout":"5m0s"}],"maxUnhealthy":2,"unhealthyRange":"[3-5]"}`, "Ready=Unknown 5m0s; [3-5]; startup 10m0s; labels map[cluster.x-k8s.io/cluster-name:c] [{pool In [a]}]"},
		"cluster API v1beta2":             {newer, `{"clusterName":"c","selector":{"matchLabels":{"pool":"a"}},"checks":{"nodeStartupTimeoutSeconds":600,"unhealthyNodeConditions":[{"type":"Ready","status":"Unknown","timeoutSeconds":300}]},"remediation":{"triggerIf":{"unhealthyLessThanOrEqualTo":"40%"}}}`, "Ready=Unknown 5m0s; 40%; startup 10m0s; labels map[cluster.x-k8s.io/cluster-name:c pool:a] []"},
		"cluster API v1beta2, defaults":   {newer, `{"clusterName":"c","selector":{"matchLabels":{"pool":"a"}},"checks":{"unhealthyNodeConditions":[{"type":"Ready","status":"Unknown","timeoutSeconds":0}]}}`, "Ready=Unknown 0s; 100%; startup 10m0s; labels map[cluster.x-k8s.io/cluster-name:c pool:a] []"},
		"cluster API v1beta2, no startup": {newer, `{"clusterName":"c","selector":{},"checks":{"nodeStartupTimeoutSeconds":0,"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":1}]},"remediation":{"triggerIf":{"unhealthyLessThanOrEqualTo":1,"unhealthyInRange":"[0-0]"}}}`, "Ready=False 1s; [0-0]; startup 0s; labels map[cluster.x-k8s.io/cluster-name:c] []"},
	} {
		got, err := Read(c.version, raw(c.spec))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, words(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if got.Namespace != "ns" || got.UID != "u" || got.APIVersion != c.version || got.Generation != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRefused: what has no counterpart refuses the whole object, by the name of the field.
func TestRefused(t *testing.T) {
	one := func(rest string) string {
		return `{"selector":{},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}]` + rest + `}`
	}
	conditions := func(all string) string { return `{"selector":{},"unhealthyConditions":[` + all + `]}` }
	checks := func(all string) string {
		return `{"clusterName":"c","selector":{},"checks":{"unhealthyNodeConditions":[{"type":"R","status":"True","timeoutSeconds":5}]` + all
	}
	var many, labels []string
	for i := range 33 {
		many = append(many, fmt.Sprintf(`{"type":"R%d","status":"True","timeout":"5m"}`, i))
		labels = append(labels, fmt.Sprintf(`"l%d":""`, i))
	}
	for name, c := range map[string]struct{ version, spec, want string }{
		"a field that is not known":        {openshift, one(`,"new":1`), `spec: nodefence can't read it: unknown field "new"`},
		"no spec":                          {openshift, `null`, "spec.unhealthyConditions: is empty"},
		"a template":                       {openshift, one(`,"remediationTemplate":{"kind":"X"}`), "spec.remediationTemplate: "},
		"conditions of Machines":           {older, one(`,"unhealthyMachineConditions":[{}]`), "spec.unhealthyMachineConditions: "},
		"no condition":                     {openshift, conditions(""), "spec.unhealthyConditions: is empty"},
		"a status that no condition has":   {openshift, conditions(`{"type":"R","status":"Yes","timeout":"5m"}`), `spec.unhealthyConditions[0].status: "Yes"`},
		"every healthy node":               {openshift, conditions(`{"type":"R","status":"True","timeout":"5m"},{"type":"Ready","status":"True","timeout":"5m"}`), "spec.unhealthyConditions[1]: Ready"},
		"a condition without a type":       {openshift, conditions(`{"status":"True","timeout":"5m"}`), "spec.unhealthyConditions[0].type: "},
		"a part of a second":               {openshift, conditions(`{"type":"R","status":"True","timeout":"1500ms"}`), "spec.unhealthyConditions[0].timeout: 1.5s"},
		"more than a day":                  {openshift, conditions(`{"type":"R","status":"True","timeout":"24h1s"}`), "spec.unhealthyConditions[0].timeout: 24h0m1s"},
		"no duration":                      {openshift, conditions(`{"type":"R","status":"True","timeout":"soon"}`), "spec.unhealthyConditions[0].timeout: "},
		"too many conditions":              {openshift, conditions(strings.Join(many, ",")), "spec.unhealthyConditions: has 33 conditions"},
		"too many labels":                  {openshift, `{"selector":{"matchLabels":{` + strings.Join(labels, ",") + `}},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}]}`, "spec.selector: has more"},
		"the cluster's name is one":        {older, `{"clusterName":"c","selector":{"matchLabels":{` + strings.Join(labels[1:], ",") + `}},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}]}`, "spec.selector: has more"},
		"a selector that can't be read":    {openshift, `{"selector":{"matchLabels":{"a b":""}},"unhealthyConditions":[{"type":"R","status":"True","timeout":"5m"}]}`, "spec.selector: can't be read"},
		"a startup of seconds":             {openshift, one(`,"nodeStartupTimeout":"59s"`), "spec.nodeStartupTimeout: 59s"},
		"a startup of no duration":         {openshift, one(`,"nodeStartupTimeout":"x"`), "spec.nodeStartupTimeout: "},
		"a startup of more than a day":     {openshift, one(`,"nodeStartupTimeout":"25h"`), "spec.nodeStartupTimeout: 25h"},
		"fewer than none":                  {openshift, one(`,"maxUnhealthy":-1`), "spec.maxUnhealthy: -1"},
		"neither number nor percentage":    {openshift, one(`,"maxUnhealthy":"half"`), `spec.maxUnhealthy: "half"`},
		"a number in quotes":               {older, one(`,"maxUnhealthy":"3"`), `spec.maxUnhealthy: "3"`},
		"a range that ends first":          {older, one(`,"unhealthyRange":"[5-3]"`), "spec.unhealthyRange: [5-3] ends"},
		"no range":                         {older, one(`,"unhealthyRange":"3-5"`), `spec.unhealthyRange: "3-5"`},
		"minHealthy that is no number":     {openshift, one(`,"minHealthy":"x"`), `spec.minHealthy: "x"`},
		"v1beta2: a template":              {newer, checks(`},"remediation":{"templateRef":{"kind":"X","name":"y","apiVersion":"z/v1"}}}`), "spec.remediation.templateRef: "},
		"v1beta2: conditions of Machines":  {newer, checks(`,"unhealthyMachineConditions":[{}]}}`), "spec.checks.unhealthyMachineConditions: "},
		"v1beta2: no condition":            {newer, `{"clusterName":"c","selector":{}}`, "spec.checks.unhealthyNodeConditions: is empty"},
		"v1beta2: the older field":         {newer, one(""), `spec: nodefence can't read it: unknown field "unhealthyConditions"`},
		"v1beta2: a startup of 30 seconds": {newer, checks(`,"nodeStartupTimeoutSeconds":30}}`), "spec.checks.nodeStartupTimeoutSeconds: 30s"},
		"v1beta2: no range":                {newer, checks(`},"remediation":{"triggerIf":{"unhealthyInRange":"[a-b]"}}}`), "spec.remediation.triggerIf.unhealthyInRange: "},
		"v1beta2: no number":               {newer, checks(`},"remediation":{"triggerIf":{"unhealthyLessThanOrEqualTo":"x"}}}`), "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo: "},
	} {
		got, err := Read(c.version, raw(c.spec))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if got == nil || got.Name != "workers" {
			t.Errorf("%s: the object is not there: %+v", name, got)
		}
	}
	if got, err := Read(openshift, []byte(`{"metadata":7}`)); got != nil || err == nil {
		t.Errorf("no object: %+v %v", got, err)
	}
}

// TestPolicyName: no two objects have the same, and each is part of a label's key.
func TestPolicyName(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct{ version, namespace, name string }{
		{openshift, "a", "b"}, {newer, "a", "b"}, {openshift, "a-b", "c"}, {openshift, "a", "b-c"},
		{openshift, "a", strings.Repeat("x", 100)}, {openshift, "a", strings.Repeat("x", 101)}, {openshift, "a", strings.Repeat("x.", 30)},
	} {
		k := &Check{}
		k.APIVersion, k.Namespace, k.Name = c.version, c.namespace, c.name
		name := k.PolicyName()
		if seen[name] != "" || len(name) > 63 {
			t.Errorf("%s of %s is that of %s", name, k.From(), seen[name])
		}
		seen[name] = k.From()
		s := &api.LabelSelector{MatchLabels: map[string]string{k.Label(): LabelValue}}
		if _, err := selectorOf(*s.Kubernetes(), ""); err != nil {
			t.Error(err)
		}
	}
}
