package look

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
)

func claim(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

// TestOnlyWhatIsCutIsReleased: every kind of volume that keeps its pod, and the
// attachments of none of those.
func TestOnlyWhatIsCutIsReleased(t *testing.T) { // S1
	const claims, volumes = "/api/v1/namespaces/default/persistentvolumeclaims/", "/api/v1/persistentvolumes/"
	objects := map[string]any{}
	volume := func(name, class, driver string) {
		objects[claims+name] = corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name}}
		pv := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{StorageClassName: class}}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "h-" + name}
		objects[volumes+"pv-"+name] = pv
	}
	volume("byclass", "fast", "x")
	volume("bydriver", "", "rbd")
	volume("other", "slow", "x")
	volume("shared", "fast", "x")
	volume("nfs", "fast", "nfs")
	volume("p-scratch", "fast", "x")
	objects[claims+"pending"] = corev1.PersistentVolumeClaim{}
	readOnly := claim("other")
	readOnly.PersistentVolumeClaim.ReadOnly = true
	empty := corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	host := corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}}}
	scratch := corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
	type freed struct {
		Delete, Stay, Detach, Volumes []string
		Attachments                   int
		Hidden                        bool
	}
	const csi = "kubernetes.io/csi/"
	for name, c := range map[string]struct {
		pods     map[string][]corev1.Volume
		attached []string
		want     freed
	}{
		"by the volume's class or driver": {map[string][]corev1.Volume{"p": {claim("byclass"), claim("bydriver"), empty}}, []string{"byclass", "bydriver"},
			freed{Delete: []string{"p"}, Volumes: []string{csi + "x^h-byclass", csi + "rbd^h-bydriver"}, Attachments: 2}},
		"a claim made for the pod":              {map[string][]corev1.Volume{"p": {scratch}}, []string{"p-scratch"}, freed{Delete: []string{"p"}, Volumes: []string{csi + "x^h-p-scratch"}, Attachments: 1}},
		"one volume of another class keeps it":  {map[string][]corev1.Volume{"p": {claim("byclass"), claim("other")}}, []string{"byclass", "other"}, freed{Stay: []string{"default/p"}}},
		"unless it can't write to that":         {map[string][]corev1.Volume{"p": {claim("byclass"), readOnly}}, []string{"byclass"}, freed{Delete: []string{"p"}, Volumes: []string{csi + "x^h-byclass"}, Attachments: 1}},
		"the node's own files keep it":          {map[string][]corev1.Volume{"p": {claim("byclass"), host}}, []string{"byclass"}, freed{Stay: []string{"default/p"}}},
		"a claim without a volume keeps it":     {map[string][]corev1.Volume{"p": {claim("pending")}}, nil, freed{Stay: []string{"default/p"}}},
		"a claim that is gone keeps it":         {map[string][]corev1.Volume{"p": {claim("gone")}}, nil, freed{Stay: []string{"default/p"}}},
		"without storage there is nothing cut":  {map[string][]corev1.Volume{"p": {empty}}, nil, freed{Stay: []string{"default/p"}}},
		"what volumesInUse never shows is said": {map[string][]corev1.Volume{"p": {claim("nfs")}}, nil, freed{Delete: []string{"p"}, Hidden: true}},
		"a volume that a pod which stays uses is not detached": {map[string][]corev1.Volume{"p": {claim("shared")}, "q": {claim("shared"), claim("other")}}, []string{"shared"},
			freed{Delete: []string{"p"}, Stay: []string{"default/q"}, Volumes: []string{csi + "x^h-shared"}}},
		"one that nobody uses is": {nil, []string{"byclass", "other"}, freed{Detach: []string{"byclass"}, Volumes: []string{csi + "x^h-byclass"}, Attachments: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var pods corev1.PodList
			for _, n := range []string{"p", "q"} {
				if v, ok := c.pods[n]; ok {
					pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n}, Spec: corev1.PodSpec{Volumes: v}})
				}
			}
			var attached storagev1.VolumeAttachmentList
			for _, n := range c.attached {
				pv := "pv-" + n
				attached.Items = append(attached.Items, storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: n},
					Spec: storagev1.VolumeAttachmentSpec{NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}})
			}
			objects["/api/v1/pods"], objects["/apis/storage.k8s.io/v1/volumeattachments"] = pods, attached
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "n"}, Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{Action: api.ActionReboot}}, Devices: []api.Binding{{
				Role: api.RoleStorage, Must: true, Covers: &api.Coverage{StorageClassNames: []string{"fast"}, CSIDriverNames: []string{"rbd"}},
			}}}}}
			left, err := Left(t.Context(), kubetest.Client(t, kubetest.Table(objects, nil)), f)
			if err != nil {
				t.Fatal(err)
			}
			got := freed{Stay: left.Stay, Volumes: left.Volumes, Attachments: left.Attachments, Hidden: left.Hidden}
			for _, p := range left.Delete {
				got.Delete = append(got.Delete, p.Name)
			}
			for _, a := range left.Detach {
				got.Detach = append(got.Detach, a.Name)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if !facts.CutOnly(&f.Status.Decision) || facts.ReleaseOf(f).Taints() {
				t.Error("released like a machine that is off")
			}
		})
	}
}
