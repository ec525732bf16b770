package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestCluster(t *testing.T) {
	const props = "config.properties"
	general := func(text string) ConfigMap { return configMap("fence-cluster-config", props, text) }
	limit := func(text string) ConfigMap { return configMap("fence-policy-fence-limit", props, text) }
	for name, tc := range map[string]struct {
		maps []ConfigMap
		want Cluster
		err  string
	}{
		"nothing": {},
		"as the proposal's demo has it, and empty roles": {
			maps: []ConfigMap{general("grace_timeout=10\ngiveup_retries=5\nroles=")},
			want: Cluster{Grace: 10 * time.Second, Retries: 5, Sources: read("fence-cluster-config@1")},
		},
		"the limit by its two names, in the proposal's spelling": {
			maps: []ConfigMap{general("policies=max-fence-limit, fence-limit"), limit("  policy-name=fence-limit\n  precentage=60\n")},
			want: Cluster{SkipFrom: 60, Sources: read("fence-cluster-config@1", "fence-policy-fence-limit@1")},
		},
		"the limit holds wherever it is, named or not": {
			maps: []ConfigMap{limit("# half\npercentage=50%")},
			want: Cluster{SkipFrom: 50, Sources: read("fence-policy-fence-limit@1")},
		},
		"both spellings":          {maps: []ConfigMap{limit("percentage=50\nprecentage=60")}, err: `ConfigMap fence-policy-fence-limit, key config.properties, line 2: "precentage" is given twice; it stands in line 1 already as "percentage"`},
		"no percentage":           {maps: []ConfigMap{limit("")}, err: "ConfigMap fence-policy-fence-limit, key config.properties: percentage is missing"},
		"nothing in it":           {maps: []ConfigMap{configMap("fence-policy-fence-limit")}, err: "ConfigMap fence-policy-fence-limit, key config.properties: missing"},
		"all of nothing":          {maps: []ConfigMap{limit("percentage=0")}, err: `ConfigMap fence-policy-fence-limit, key config.properties, line 1: "percentage" takes a whole number from 1 to 100`},
		"another policy's name":   {maps: []ConfigMap{limit("policy_name=x\npercentage=1")}, err: `ConfigMap fence-policy-fence-limit, key config.properties, line 1: policy_name is "x", but this ConfigMap is for fence-limit`},
		"a policy without limits": {maps: []ConfigMap{general("\npolicies=fence-limit")}, err: `ConfigMap fence-cluster-config, key config.properties, line 2: policy "fence-limit" has no ConfigMap fence-policy-fence-limit; make one with percentage=<1 to 100>, or delete the name here`},
		"an unknown policy":       {maps: []ConfigMap{general("policies=calm")}, err: `ConfigMap fence-cluster-config, key config.properties, line 1: unknown policy "calm"; known is fence-limit, and everything else belongs in a FencePolicy`},
		"an unknown key":          {maps: []ConfigMap{general("grace=10")}, err: `ConfigMap fence-cluster-config, key config.properties, line 1: unknown key "grace"; known are giveup_retries, grace_timeout, policies`},
		"no number":               {maps: []ConfigMap{general("grace_timeout=10s")}, err: `ConfigMap fence-cluster-config, key config.properties, line 1: "grace_timeout" takes a whole number from 0 to 86400`},
		"a share of tries":        {maps: []ConfigMap{general("giveup_retries=5%")}, err: `ConfigMap fence-cluster-config, key config.properties, line 1: "giveup_retries" takes a whole number from 1 to 100`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := clusterOf(tc.maps)
			if d := cmp.Diff(tc.err, words(err)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestClusterOverAPolicy(t *testing.T) {
	seconds := func(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }
	policy := func(first, second, tries int, limits ...api.ScopedLimits) api.ResolvedPolicy {
		return api.ResolvedPolicy{
			Settings: api.Settings{UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: seconds(first)}, {Type: "Ready", Status: "False", Duration: seconds(second)}},
				Power: api.PowerSettings{Attempts: int32(tries)}}, Limits: append([]api.ScopedLimits{{Policy: "p"}}, limits...),
		}
	}
	share := api.ScopedLimits{Policy: "ConfigMap fence-policy-fence-limit", SkipFrom: 60, MaxUnhealthy: intstr.FromString("100%"), MaxConcurrent: 1000}
	for name, tc := range map[string]struct {
		c    Cluster
		want api.ResolvedPolicy
	}{
		"nothing changes nothing": {want: policy(0, 300, 3)},
		"all of it, twice over":   {c: Cluster{Grace: 10 * time.Second, Retries: 5, SkipFrom: 60}, want: policy(10, 300, 5, share)},
	} {
		t.Run(name, func(t *testing.T) {
			got := policy(0, 300, 3)
			tc.c.Over(&got)
			tc.c.Over(&got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
