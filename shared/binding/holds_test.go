package binding

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhatIsNotKnownHoldsNothing: two things that are not known are not equal.
func TestWhatIsNotKnownHoldsNothing(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		change func(*api.TargetBinding, *present)
		want   bool
	}{
		"all known":                    {func(*api.TargetBinding, *present) {}, true},
		"30 seconds old":               {func(_ *api.TargetBinding, p *present) { p.at = p.at.Add(30 * time.Second) }, true},
		"older":                        {func(_ *api.TargetBinding, p *present) { p.at = p.at.Add(31 * time.Second) }, false},
		"as far ahead as clocks may":   {func(_ *api.TargetBinding, p *present) { p.at = p.at.Add(-2 * time.Second) }, true},
		"further ahead":                {func(_ *api.TargetBinding, p *present) { p.at = p.at.Add(-3 * time.Second) }, false},
		"no program":                   {func(k *api.TargetBinding, p *present) { k.Resolver, p.resolver = "", "" }, false},
		"no Node":                      {func(k *api.TargetBinding, p *present) { k.NodeUID, p.node = "", &corev1.Node{} }, false},
		"no version":                   {func(k *api.TargetBinding, p *present) { k.ConfigsVersion, p.configs.Version = "", "" }, false},
		"neither is enrolled":          {func(k *api.TargetBinding, p *present) { k.Enrolment, p.enrolment = nil, nil }, true},
		"an enrolment of its name":     {func(_ *api.TargetBinding, p *present) { p.enrolment.UID = "another" }, false},
		"an enrolment of its version":  {func(_ *api.TargetBinding, p *present) { p.enrolment.UID = "" }, true},
		"an enrolment in another form": {func(_ *api.TargetBinding, p *present) { p.enrolment.ResourceVersion = "8" }, false},
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "n"}}
		mine := api.TargetSource{Name: "e", UID: "u", ResourceVersion: "7"}
		k := &api.TargetBinding{Resolver: "r", NodeUID: "n", NodeDigest: digestOf(n), ConfigsVersion: "v", Enrolment: &mine}
		now := present{
			node: n, resolver: "r", at: at, configs: &api.ConfigsSeen{Version: "v", ObservedAt: metav1.NewMicroTime(at)},
			enrolment: &api.TargetSource{Name: "e", UID: "u", ResourceVersion: "7"},
		}
		if c.change(k, &now); holds(k, now) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}
