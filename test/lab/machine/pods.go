package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The life of a pod on a machine.
const (
	podWaiting = iota // for its volumes
	podRunning
	podFailed  // it was running when the machine died and is not to be restarted
	podDeleted // deleted at the API server, whose cache still shows it
)

// localPod is what a kubelet knows of a pod that it has seen in this boot.
type localPod struct {
	uid      types.UID
	key      string
	state    int
	volumes  []volume
	resolved bool
	stops    []func()
	ip       string
	started  metav1.Time
	restarts int32
	// patched is the version in the cache when the status was last written.
	patched string
}

// syncPods returns whether a pod waits for something that may not wake us.
func (k *kubelet) syncPods(ctx context.Context) (waiting bool, err error) {
	pods, err := k.cluster.podsOn(k.machine.name)
	if err != nil {
		return false, err
	}
	for _, pod := range pods {
		if k.pods[pod.UID] == nil && !ended(pod) {
			k.pods[pod.UID] = k.admit(pod)
		}
		if local := k.pods[pod.UID]; local != nil && local.state == podWaiting {
			local.volumes, local.resolved = k.resolve(pod)
		}
	}
	k.forget(pods)
	// A volume is reported as in use before it is mounted, so that the controllers do not detach
	// it.
	if err := k.reportNode(ctx); err != nil {
		return false, err
	}
	var errs []error
	for _, pod := range pods {
		if local := k.pods[pod.UID]; local != nil {
			errs = append(errs, k.syncPod(ctx, pod, local))
			waiting = waiting || local.state == podWaiting
		} else if pod.DeletionTimestamp != nil {
			errs = append(errs, k.delete(ctx, pod))
		}
	}
	return waiting, errors.Join(errs...)
}

// admit sees a pod for the first time in this boot. One that ran before was
// killed by the machine's end.
func (k *kubelet) admit(pod *corev1.Pod) *localPod {
	k.nextIP++
	local := &localPod{
		uid:     pod.UID,
		key:     pod.Namespace + "/" + pod.Name,
		ip:      fmt.Sprintf("%s.%d", address("10", k.index), k.nextIP%253+2),
		started: metav1.NewTime(time.Now()),
	}
	if pod.Spec.HostNetwork {
		local.ip = k.nodeAddress()
	}
	if pod.Status.Phase != corev1.PodRunning {
		return local
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		local.state = podFailed
		return local
	}
	local.restarts = 1
	if s := pod.Status.ContainerStatuses; len(s) > 0 {
		local.restarts += s[0].RestartCount
	}
	return local
}

// forget ends pods that others have removed from the API server.
func (k *kubelet) forget(pods []*corev1.Pod) {
	for uid, local := range k.pods {
		if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid }) {
			local.stop()
			delete(k.pods, uid)
		}
	}
}

func (k *kubelet) syncPod(ctx context.Context, pod *corev1.Pod, local *localPod) error {
	switch {
	case local.state == podDeleted:
		return nil
	case pod.DeletionTimestamp != nil:
		return k.terminate(ctx, pod, local)
	case ended(pod):
		// Somebody has declared it dead while it ran, as pod GC does.
		local.stop()
		local.state = podFailed
		return nil
	case local.state == podWaiting && k.mountable(local):
		if !k.start(local) {
			return nil
		}
	}
	return k.reportPod(ctx, pod, local)
}

// start is the containers' start. It fails if the kernel has died meanwhile.
func (k *kubelet) start(local *localPod) bool {
	for _, v := range local.volumes {
		if !v.exclusive {
			continue
		}
		stop, ok := k.kernel.write(v.handle, local.key)
		if !ok {
			return false
		}
		local.stops = append(local.stops, stop)
	}
	local.state = podRunning
	local.started = metav1.NewTime(time.Now())
	return true
}

func (p *localPod) stop() {
	for _, stop := range p.stops {
		stop()
	}
	p.stops, p.volumes, p.resolved = nil, nil, false
}

// terminate keeps the order of a real kubelet: the containers end, the volumes are unmounted, and
// only then the pod is removed.
func (k *kubelet) terminate(ctx context.Context, pod *corev1.Pod, local *localPod) error {
	local.stop()
	if err := k.reportNode(ctx); err != nil {
		return err
	}
	if err := k.delete(ctx, pod); err != nil {
		return err
	}
	local.state = podDeleted
	return nil
}

func (k *kubelet) delete(ctx context.Context, pod *corev1.Pod) error {
	err := k.cluster.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
