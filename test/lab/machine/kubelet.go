package machine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// retry is how soon a kubelet tries again what has failed, or looks again
	// at a volume that is still on its way.
	retry = 500 * time.Millisecond
	// warmUp is how long a kubelet that has booted is not ready.
	warmUp = 200 * time.Millisecond
	// recheck is how often a kubelet at least compares its node with what it
	// knows, as upstream does: that undoes an Unknown that others have written.
	recheck = 10 * time.Second
)

// kubelet runs between a boot and the kernel's end. What it knows of pods is lost when it ends.
type kubelet struct {
	machine *hardware
	kernel  *kernel
	cluster *cluster
	config  Config
	index   int
	port    *port
	zone    string

	nodeUID types.UID
	// readyAt is when the node may become ready, zero before the registration.
	readyAt  time.Time
	reported report
	pods     map[types.UID]*localPod
	nextIP   int
}

// report is what the kubelet has last written to its node's status.
type report struct {
	at    time.Time
	ready bool
	inUse []corev1.UniqueVolumeName
	// seen is the version of the node in the cache at that time: until it
	// changes, the cache says nothing about what was written.
	seen string
}

func (k *kubelet) run() {
	k.pods = map[types.UID]*localPod{}
	renewing := false
	for {
		wait := k.turn()
		if !renewing && k.nodeUID != "" {
			renewing = true
			k.machine.wg.Go(k.renewLease)
		}
		timer := time.NewTimer(wait)
		select {
		case <-k.kernel.ctx.Done():
			timer.Stop()
			return
		case <-k.kernel.woken:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// turn looks at everything once and returns when to look again.
func (k *kubelet) turn() time.Duration {
	ctx, online := k.kernel.online()
	if !online {
		return recheck // it is woken when the network is back
	}
	wait, err := k.sync(ctx)
	if err != nil && ctx.Err() == nil {
		slog.Warn("kubelet will try again", "node", k.machine.name, "error", err)
		return spread(retry)
	}
	return wait
}

func (k *kubelet) sync(ctx context.Context) (time.Duration, error) {
	if k.nodeUID == "" {
		if err := k.register(ctx); err != nil {
			return 0, err
		}
	}
	waiting, err := k.syncPods(ctx)
	if err != nil {
		return 0, err
	}
	if err := k.reportNode(ctx); err != nil {
		return 0, err
	}
	switch until := time.Until(k.readyAt); {
	case until > 0:
		return until, nil
	case waiting:
		return retry, nil
	}
	return min(k.config.StatusPeriod, recheck), nil
}

// spread keeps hundreds of machines from doing the same at the same moment.
func spread(d time.Duration) time.Duration { return d/2 + rand.N(d) }
