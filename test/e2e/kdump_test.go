package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/kdump"
	"github.com/nodefence/nodefence/test/rig"
)

// debianSend is where Debian's package fence-agents has its sender. If it is not installed, the
// test itself sends the documented bytes.
const debianSend = "/usr/libexec/fence-agents/fence_kdump_send"

// onTheWire is what it sends, in the order of most machines.
var onTheWire = []byte{0x40, 0x2a, 0x30, 0x1b, 1, 0, 0, 0}

// crashKernels are the kernels of machines that dump, and the listener that hears them.
type crashKernels struct {
	*world
	listener *net.UDPAddr
}

// publish is how the listener sends events to the broker.
type publish func(ctx context.Context, e event.Event) error

func (p publish) Send(ctx context.Context, e event.Event) error { return p(ctx, e) }

// listens runs nodefence-kdump's listener until the test ends.
func (w *world) listens(p *rig.InProcess) *crashKernels {
	w.t.Helper()
	must(w.t, w.Apply(w.ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+kube.DumpsNamespace+"}\n"))
	l, err := kdump.New(kdump.Options{
		Cluster: w.Fences, Sender: publish(p.Broker.Publish), Source: events.SourceOf("lab"),
		Log: slog.New(slog.NewJSONHandler(w.log, nil)), Registerer: prometheus.NewRegistry(), Elapsed: kube.Elapsed,
	})
	must(w.t, err)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(w.t, err)
	ctx, stop := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, conn) }()
	w.t.Cleanup(func() { stop(); must(w.t, <-ended) })
	w.until("the listener to know the nodes' addresses", func() (bool, error) { return l.Ready() == nil, nil })
	return &crashKernels{w, conn.LocalAddr().(*net.UDPAddr)}
}

// address is a node's own.
func (w *world) address(node string) string {
	w.t.Helper()
	n, err := w.Kube.CoreV1().Nodes().Get(w.ctx, node, metav1.GetOptions{})
	must(w.t, err)
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	w.t.Fatalf("%s has no address", node)
	return ""
}

// send sends messages from an address each second, until stop is called. fence_kdump_send has no
// way to choose its source address, and all machines of a lab are this machine. So what it sends
// is passed on, byte for byte, from that address.
func (k *crashKernels) send(from string) (stop func()) {
	k.t.Helper()
	out, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(from)}, k.listener)
	must(k.t, err)
	ctx, cancel := context.WithCancel(k.ctx)
	var wg sync.WaitGroup
	if _, err := os.Stat(debianSend); err == nil {
		in, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		must(k.t, err)
		cmd := exec.CommandContext(ctx, debianSend, "-f", "ipv4", "-i", "1", "-p", fmt.Sprint(in.LocalAddr().(*net.UDPAddr).Port), "127.0.0.1")
		must(k.t, cmd.Start())
		context.AfterFunc(ctx, func() { _ = in.Close() })
		wg.Go(func() { _ = cmd.Wait() })
		wg.Go(func() {
			b := make([]byte, 64)
			for {
				n, err := in.Read(b)
				if err != nil {
					return
				}
				_, _ = out.Write(b[:n])
			}
		})
	} else {
		k.t.Log("fence_kdump_send is missing (apt-get install fence-agents): the test sends what it would")
		wg.Go(func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for ctx.Err() == nil {
				_, _ = out.Write(onTheWire)
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); wg.Wait(); _ = out.Close() })
	k.t.Cleanup(stop)
	return stop
}

// heard is what is recorded of a node's messages; nil if nothing is.
func (k *crashKernels) heard(node string) *coordinationv1.Lease {
	k.t.Helper()
	l, err := k.Kube.CoordinationV1().Leases(kube.DumpsNamespace).Get(k.ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(k.t, err)
	return l
}

// untilHeard waits until this many messages of a node are recorded.
func (k *crashKernels) untilHeard(node string, messages int32) {
	k.t.Helper()
	k.until(fmt.Sprintf("%d messages of %s to be heard", messages, node), func() (bool, error) {
		l := k.heard(node)
		return l != nil && *l.Spec.LeaseTransitions >= messages, nil
	})
}

// aside is another node than this.
func (w *world) aside(node string) string {
	if node == "node-0" {
		return "node-1"
	}
	return "node-0"
}

// TestKdumpHoldsThePower: no power is cut while the machine's messages come from the
// machine's own address, and the fence runs to its end once they stop.
func TestKdumpHoldsThePower(t *testing.T) {
	w := newWorld(t, 3, quick+"kdump: {firstMessageTimeout: 2m, quietDuration: 30s, timeout: 5m}\n")
	k := w.listens(w.start(nil))
	victim := w.database(1)
	other := w.aside(victim)
	before := w.Pod(w.ctx, "db-0").UID
	w.node(victim, "crash")

	// Messages from an address that no node has, and from another node's.
	quiet := []func(){k.send("127.99.0.1"), k.send(w.address(other))}
	k.untilHeard(other, 2)
	if l := k.heard(victim); l != nil {
		t.Errorf("it is written down for %s: %+v", victim, l.Spec)
	}
	for _, stop := range quiet {
		stop()
	}

	// A message from the node's own address holds the fence.
	stop := k.send(w.address(victim))
	w.untilFence(victim, "the dump to hold the fence", func(f *api.NodeFence) bool {
		return f.Status.Reason == api.KdumpUnderWay && f.Status.Kdump != nil && f.Status.Kdump.Count >= 3
	})
	f, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	if f.Status.Phase != api.Pending || f.Status.Kdump.Source != w.address(victim) {
		t.Errorf("%s, %+v", f.Status.Phase, f.Status.Kdump)
	}
	w.words(victim, "")
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.UID != before {
		t.Error("its pod was released, and the policy does not let it")
	}

	stop()
	w.moved("db-0", victim)
	f = w.phase(victim, api.Finished)
	if !told(f, api.KdumpOver, "the dump has ended") {
		t.Errorf("the history does not say so:\n%s", rig.Story(f))
	}
	checkProof(t, f)
	checkAttached(w, victim)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
}

// web is work without a volume, on the node of the database if there is room for it.
const web = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity:
        podAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - {weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}}
      containers: [{name: c, image: example.invalid/c}]
`

// webOn is the node of the pod without a volume that is Ready and not asked to leave.
func (w *world) webOn(not string) (node string) {
	w.t.Helper()
	w.until("a pod without a volume to run", func() (bool, error) {
		pods, err := w.Kube.CoreV1().Pods(metav1.NamespaceDefault).List(w.ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return false, err
		}
		for _, p := range pods.Items {
			ready := false
			for _, c := range p.Status.Conditions {
				ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}
			if ready && p.DeletionTimestamp == nil && p.Spec.NodeName != not {
				node = p.Spec.NodeName
			}
		}
		return node != "", nil
	})
	return node
}

// TestKdumpAsProof: if the policy opts in, the pods of a machine that dumps are deleted at
// once, and pods without a volume run elsewhere; volumes wait for the machine to be off.
func TestKdumpAsProof(t *testing.T) { // S1, S4
	w := newWorld(t, 3, quick+"kdump: {firstMessageTimeout: 2m, quietDuration: 30s, timeout: 4m, releasePodsWhileDumping: true}\n")
	asked := &removals{}
	k := w.listens(w.start(asked.watch))
	victim := w.database(1)
	must(t, w.Apply(w.ctx, web))
	if node := w.webOn(""); node != victim {
		t.Fatalf("web runs on %s, not beside the database on %s", node, victim)
	}
	_, attachment := w.attachment(victim)
	before := w.Pod(w.ctx, "db-0").UID
	ever := w.taints(victim)
	w.node(victim, "crash")
	stop := k.send(w.address(victim))

	w.webOn(victim)
	w.until("the database's pod to be released", func() (bool, error) {
		p := w.Pod(w.ctx, "db-0")
		return p != nil && p.UID != before, nil
	})
	w.untilFence(victim, "the fence to wait on for the dump, with its pods released", func(f *api.NodeFence) bool {
		s := f.Status
		return s.Phase == api.Pending && s.Reason == api.KdumpUnderWay && s.Kdump.DoneAt != nil && s.Proof == nil && s.Release.Pods == 2
	})
	f, err := w.Fences.Fence(w.ctx, victim)
	must(t, err)
	k.untilHeard(victim, int32(f.Status.Kdump.Count)+2)
	w.words(victim, "")
	if ever() {
		t.Error("the out-of-service taint was set for a dump")
	}
	if all := asked.of("volumeattachments"); len(all) > 0 {
		t.Errorf("attachments were deleted for a dump: %+v", all)
	}
	if _, name := w.attachment(victim); name != attachment {
		t.Errorf("%s is attached, not %s", name, attachment)
	}
	if p := w.Pod(w.ctx, "db-0"); p == nil || p.Status.Phase == corev1.PodRunning {
		t.Errorf("the database runs elsewhere before its machine was seen off: %+v", p)
	}
	w.oneWriter()

	stop()
	w.moved("db-0", victim)
	f = w.phase(victim, api.Finished)
	for why, words := range map[api.Reason]string{api.KdumpSeen: "its pods may go", api.ReleaseStarted: "while the machine dumps its memory", api.KdumpOver: "the dump has ended", api.SeenOff: "seen off twice"} {
		if !told(f, why, words) {
			t.Errorf("the history does not say %s (%s):\n%s", why, words, rig.Story(f))
		}
	}
	checkProof(t, f)
	checkAttached(w, victim)
	w.words(victim, "off on")
	w.oneWriter()
	w.unmarked(victim)
}
