package look

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

func TestAttachments(t *testing.T) {
	now, pv := metav1.Now(), "pv-1"
	for name, c := range map[string]struct {
		change func(*storagev1.VolumeAttachment)
		used   map[string]bool
		want   observed.Left
	}{
		"is waited for, and its driver named": {func(*storagev1.VolumeAttachment) {}, nil,
			observed.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"its driver's own words are repeated": {func(a *storagev1.VolumeAttachment) {
			a.Status.DetachError = &storagev1.VolumeError{Message: "no such array"}
		}, nil, observed.Left{Attachments: 1, Names: []string{`volume pv-1 (CSI driver csi.example.com: "no such array")`}}},
		"without a user it is to be detached": {func(*storagev1.VolumeAttachment) {}, map[string]bool{"pv-2": true},
			observed.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}, Detach: []observed.Attachment{{Name: "a", UID: "u"}}}},
		"with a user it stays": {func(*storagev1.VolumeAttachment) {}, map[string]bool{"pv-1": true},
			observed.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"what goes already is not asked again": {func(a *storagev1.VolumeAttachment) { a.DeletionTimestamp = &now }, map[string]bool{},
			observed.Left{Attachments: 1, Names: []string{"volume pv-1 (CSI driver csi.example.com)"}}},
		"a volume within a pod's spec is Kubernetes' own": {func(a *storagev1.VolumeAttachment) { a.Spec.Source.PersistentVolumeName = nil }, map[string]bool{},
			observed.Left{Attachments: 1, Names: []string{"volume a (CSI driver csi.example.com)"}}},
	} {
		a := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}}
		c.change(&a)
		var got observed.Left
		attachments(&got, []storagev1.VolumeAttachment{a}, c.used)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestClaimsOfAPod(t *testing.T) {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}}}
	if d := cmp.Diff([]string{"c", "p-scratch"}, Claims(&p)); d != "" {
		t.Error(d)
	}
	p.Status.Phase = corev1.PodSucceeded
	if got := Claims(&p); got != nil {
		t.Errorf("a pod that ended uses %q", got)
	}
}

func TestBudgetsCountPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Labels: map[string]string{"app": "db"}}}
	all, always := metav1.LabelSelector{}, policyv1.AlwaysAllow
	for name, c := range map[string]struct {
		namespace string
		selector  *metav1.LabelSelector
		want      bool
	}{
		"by label":                   {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, true},
		"an empty selector all":      {"a", &all, true},
		"none without a selector":    {"a", nil, false},
		"none of another namespace":  {"b", &all, false},
		"none of another label":      {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, false},
		"none by what can't be read": {"a", &metav1.LabelSelector{MatchLabels: map[string]string{"a b": ""}}, false},
	} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: c.selector}}
		if got := counts(b, pod); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:   policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &always},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2}}
	want := observed.Disruption{Allowed: 1, Healthy: 3, Wanted: 2, UnreadyFree: true}
	if d := cmp.Diff(want, disruption(b)); d != "" {
		t.Error(d)
	}
	b.Status.ObservedGeneration, want.Allowed = 1, 0
	if d := cmp.Diff(want, disruption(b)); d != "" {
		t.Errorf("numbers of an older spec:\n%s", d)
	}
}

// TestDetachedFirst: while a chosen volume is attached, what is detached and which
// pods wait; and what is no reason to wait.
func TestDetachedFirst(t *testing.T) {
	const claims, volumes = "/api/v1/namespaces/default/persistentvolumeclaims/", "/api/v1/persistentvolumes/"
	now, fast, slow := metav1.Now(), "fast", "slow"
	objects := map[string]any{}
	for name, class := range map[string]string{"a": fast, "b": slow, "idle": slow, "classless": ""} {
		objects[claims+name] = corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name, StorageClassName: &class}}
		objects[volumes+"pv-"+name] = corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{StorageClassName: class}}
	}
	daemon := []metav1.OwnerReference{{Kind: "DaemonSet", Controller: new(bool)}}
	*daemon[0].Controller = true
	storage := []api.Binding{{Role: api.RoleStorage, Must: true, Covers: &api.Coverage{StorageClassNames: []string{fast}}}}
	host := corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}}}
	type got struct {
		Delete, Detach      []string
		Terminating, Attach int
		Waits               []string
	}
	both := []string{"pv-a", "pv-b"}
	for name, c := range map[string]struct {
		policy   api.ReleaseSettings
		cut      []api.Binding
		pods     map[string][]corev1.Volume // d is a DaemonSet's
		attached []string
		going    string
		want     got
	}{
		"by the volume's name": {policy: api.ReleaseSettings{DetachFirst: named("pv-a")}, pods: map[string][]corev1.Volume{"p": {claim("a")}, "q": nil}, attached: []string{"pv-a"},
			want: got{Detach: []string{"pv-a"}, Terminating: 2, Attach: 1, Waits: []string{"pod default/p (waits for volume pv-a to be detached first)", "pod default/q (waits for volume pv-a to be detached first)"}}},
		"by the volume's class": {policy: api.ReleaseSettings{DetachFirst: ofClass(slow)}, pods: map[string][]corev1.Volume{"p": {claim("a"), claim("b")}}, attached: both,
			want: got{Detach: []string{"pv-b"}, Terminating: 1, Attach: 2, Waits: []string{"pod default/p (waits for volume pv-b to be detached first)"}}},
		"several, and nothing that is not chosen": {policy: api.ReleaseSettings{DetachFirst: named(both...)}, pods: map[string][]corev1.Volume{"p": {claim("a")}}, attached: []string{"pv-a", "pv-b", "pv-idle"},
			want: got{Detach: both, Terminating: 1, Attach: 3, Waits: []string{"pod default/p (waits for volume pv-a and 1 more to be detached first)"}}},
		"one that goes already is waited for": {policy: api.ReleaseSettings{DetachFirst: named("pv-a")}, pods: map[string][]corev1.Volume{"p": {claim("a")}}, attached: []string{"pv-a", "pv-idle"}, going: "pv-a",
			want: got{Terminating: 1, Attach: 2, Waits: []string{"pod default/p (waits for volume pv-a to be detached first)"}}},
		"none is attached": {policy: api.ReleaseSettings{DetachFirst: append(named("pv-a"), ofClass("fast")...)}, pods: map[string][]corev1.Volume{"p": {claim("b")}}, attached: []string{"pv-b", "pv-idle"},
			want: got{Delete: []string{"p"}, Detach: []string{"pv-idle"}, Attach: 2}},
		"a volume that is gone has its name and no class": {policy: api.ReleaseSettings{DetachFirst: append(named("pv-gone"), ofClass("")...)}, pods: map[string][]corev1.Volume{"p": nil}, attached: []string{"pv-gone", "pv-lost"},
			want: got{Detach: []string{"pv-gone"}, Terminating: 1, Attach: 2, Waits: []string{"pod default/p (waits for volume pv-gone to be detached first)"}}},
		"no class is none to choose": {policy: api.ReleaseSettings{DetachFirst: ofClass("")}, pods: map[string][]corev1.Volume{"p": {claim("classless")}}, attached: []string{"pv-classless"},
			want: got{Delete: []string{"p"}, Attach: 1}},
		"a volume within a pod's spec has neither": {policy: api.ReleaseSettings{DetachFirst: ofClass("")}, pods: map[string][]corev1.Volume{"p": nil}, attached: []string{""},
			want: got{Delete: []string{"p"}, Attach: 1}},
		"other storage than is released does not count": {policy: api.ReleaseSettings{DetachFirst: named(both...), StorageClassNames: []string{fast}}, pods: map[string][]corev1.Volume{"p": {claim("a")}, "q": {claim("b")}}, attached: []string{"pv-b"},
			want: got{Delete: []string{"p"}}},
		"nor a volume that a cut leaves to its pod": {policy: api.ReleaseSettings{DetachFirst: ofClass(fast)}, cut: storage, pods: map[string][]corev1.Volume{"p": {claim("a")}, "q": {claim("a"), host}}, attached: []string{"pv-a"},
			want: got{Delete: []string{"p"}}},
		"one that the cut covers does": {policy: api.ReleaseSettings{DetachFirst: ofClass(fast)}, cut: storage, pods: map[string][]corev1.Volume{"p": {claim("a")}, "q": {host}}, attached: both,
			want: got{Detach: []string{"pv-a"}, Terminating: 1, Attach: 1, Waits: []string{"pod default/p (waits for volume pv-a to be detached first)"}}},
		"without a pod to delete, what is in use stays": {policy: api.ReleaseSettings{DetachFirst: named("pv-a", "pv-idle")}, pods: map[string][]corev1.Volume{"d": {claim("a")}}, attached: []string{"pv-a", "pv-idle"},
			want: got{Detach: []string{"pv-idle"}, Attach: 1}},
		"what a pod that stays uses is not waited for": {pods: map[string][]corev1.Volume{"p": {claim("b")}, "d": {claim("a")}}, attached: both,
			want: got{Delete: []string{"p"}, Attach: 1}},
		"no budget is asked for pods that wait": {policy: api.ReleaseSettings{DetachFirst: named("pv-a"), RespectDisruptionBudgets: true}, pods: map[string][]corev1.Volume{"p": {claim("a")}}, attached: []string{"pv-a"},
			want: got{Detach: []string{"pv-a"}, Terminating: 1, Attach: 1, Waits: []string{"pod default/p (waits for volume pv-a to be detached first)"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var pods corev1.PodList
			for _, n := range []string{"p", "q", "d"} {
				if v, ok := c.pods[n]; ok {
					p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n}, Spec: corev1.PodSpec{Volumes: v}}
					if n == "d" {
						p.OwnerReferences = daemon
					}
					pods.Items = append(pods.Items, p)
				}
			}
			var attached storagev1.VolumeAttachmentList
			for _, pv := range c.attached {
				a := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: pv}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n"}}
				if pv != "" {
					a.Spec.Source.PersistentVolumeName = &pv
				}
				if pv == c.going {
					a.DeletionTimestamp = &now
				}
				attached.Items = append(attached.Items, a)
			}
			objects["/api/v1/pods"], objects["/apis/storage.k8s.io/v1/volumeattachments"] = pods, attached
			c.policy.Strategy = api.ReleaseResourceDeletion
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot, Release: c.policy}}, Devices: c.cut}}}
			left, err := Left(t.Context(), kubetest.Client(t, kubetest.Table(objects, nil)), f)
			if err != nil {
				t.Fatal(err)
			}
			is := got{Terminating: left.Terminating, Attach: left.Attachments}
			for _, p := range left.Delete {
				is.Delete = append(is.Delete, p.Name)
			}
			for _, a := range left.Detach {
				is.Detach = append(is.Detach, a.Name)
			}
			for _, words := range left.Names {
				if strings.HasPrefix(words, "pod ") {
					is.Waits = append(is.Waits, words)
				}
			}
			if d := cmp.Diff(c.want, is); d != "" {
				t.Error(d)
			}
		})
	}
}

// named are volumes by their names.
func named(names ...string) (all []api.DetachFirst) {
	for _, n := range names {
		all = append(all, api.DetachFirst{PersistentVolumeName: n})
	}
	return all
}

// ofClass are all volumes of a class.
func ofClass(class string) []api.DetachFirst {
	return []api.DetachFirst{{StorageClassName: class}}
}

// TestAVolumeOfAPodThatStays is not waited for. Under the taint Kubernetes deletes a DaemonSet's pod
// too, unless it tolerates the taint; so its volume goes.
func TestAVolumeOfAPodThatStays(t *testing.T) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims/"
	yes := true
	pod := func(name string) corev1.Pod {
		use := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{use}}}
	}
	daemon, tolerant := pod("daemon"), pod("tolerant")
	daemon.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
	tolerant.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	objects := map[string]any{"/api/v1/pods": corev1.PodList{Items: []corev1.Pod{daemon, tolerant, pod("db")}}}
	var attached storagev1.VolumeAttachmentList
	for _, name := range []string{"daemon", "tolerant", "db"} {
		objects[claims+name] = corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name}}
		pv := "pv-" + name
		attached.Items = append(attached.Items, storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: pv},
			Spec: storagev1.VolumeAttachmentSpec{NodeName: "n", Attacher: "csi", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}})
	}
	objects["/apis/storage.k8s.io/v1/volumeattachments"] = attached
	for strategy, want := range map[api.ReleaseStrategy][]string{
		api.ReleaseTaintAndDelete:   {"volume pv-daemon (CSI driver csi)", "volume pv-db (CSI driver csi)"},
		api.ReleaseResourceDeletion: {"volume pv-db (CSI driver csi)"},
	} {
		settings := api.Settings{Action: api.ActionReboot, Release: api.ReleaseSettings{Strategy: strategy}}
		f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: settings}}}}
		left, err := Left(t.Context(), kubetest.Client(t, kubetest.Table(objects, nil)), f)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, left.Names); d != "" || left.Attachments != len(want) {
			t.Errorf("%s: %d attachments %s", strategy, left.Attachments, d)
		}
	}
}
