package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// reportPod writes the pod's status if the cluster has another one. The controllers write one
// when they take the node for dead.
func (k *kubelet) reportPod(ctx context.Context, pod *corev1.Pod, local *localPod) error {
	want := k.podStatus(pod, local)
	if pod.ResourceVersion == local.patched || sameStatus(pod.Status, want) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   want,
	})
	if err != nil {
		return fmt.Errorf("encode pod status: %w", err)
	}
	_, err = k.cluster.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("report status of pod %s: %w", local.key, err)
	}
	local.patched = pod.ResourceVersion
	return nil
}

func sameStatus(a, b corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.PodIP == b.PodIP && podReady(a) == podReady(b) && restarts(a) == restarts(b) &&
		len(a.ContainerStatuses) == len(b.ContainerStatuses)
}

func podReady(status corev1.PodStatus) bool {
	for _, c := range status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func restarts(status corev1.PodStatus) int32 {
	if len(status.ContainerStatuses) == 0 {
		return 0
	}
	return status.ContainerStatuses[0].RestartCount
}

func (k *kubelet) podStatus(pod *corev1.Pod, local *localPod) corev1.PodStatus {
	start := pod.Status.StartTime
	if start == nil {
		start = &local.started
	}
	status := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              corev1.PodPending,
		StartTime:          start,
		HostIP:             k.nodeAddress(),
		HostIPs:            []corev1.HostIP{{IP: k.nodeAddress()}},
	}
	switch local.state {
	case podRunning:
		status.Phase = corev1.PodRunning
		status.PodIP, status.PodIPs = local.ip, []corev1.PodIP{{IP: local.ip}}
		status.InitContainerStatuses = containers(pod.Spec.InitContainers, local, completed(local))
	case podFailed:
		status.Phase, status.Reason = corev1.PodFailed, "Terminated"
		status.Message = "the machine went down while the pod was running"
	}
	status.ContainerStatuses = containers(pod.Spec.Containers, local, containerState(local))
	status.Conditions = podConditions(pod, local.state == podRunning)
	return status
}

func containerState(local *localPod) corev1.ContainerState {
	switch local.state {
	case podRunning:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: local.started}}
	case podFailed:
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: local.started}}
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
}

func completed(local *localPod) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: local.started, FinishedAt: local.started}}
}

func containers(all []corev1.Container, local *localPod, state corev1.ContainerState) []corev1.ContainerStatus {
	statuses := make([]corev1.ContainerStatus, 0, len(all))
	for _, c := range all {
		started := state.Running != nil
		status := corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, State: state, RestartCount: local.restarts,
			Started: &started,
			Ready:   started || state.Terminated != nil && state.Terminated.ExitCode == 0,
		}
		if state.Waiting == nil {
			status.ImageID = "lab://" + c.Image
			status.ContainerID = fmt.Sprintf("lab://%s-%s-%d", local.uid, c.Name, local.restarts)
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func podConditions(pod *corev1.Pod, running bool) []corev1.PodCondition {
	all := []corev1.PodCondition{{Type: corev1.PodInitialized}, {Type: corev1.PodReadyToStartContainers}, {Type: corev1.ContainersReady}, {Type: corev1.PodReady}}
	for i := range all {
		c := &all[i]
		c.ObservedGeneration = pod.Generation
		c.Status = corev1.ConditionFalse
		if running {
			c.Status = corev1.ConditionTrue
		}
		c.LastTransitionTime = metav1.NewTime(time.Now())
		for _, old := range pod.Status.Conditions {
			if old.Type == c.Type && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	return all
}
