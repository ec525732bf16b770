package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Config is how a lab's machines are played.
type Config struct {
	Kubeconfig string
	Nodes      int
	// NodePrefix and a number from 0 are a machine's name.
	NodePrefix string
	// LeasePeriod lies between two renewals; the Lease is valid for four of them.
	LeasePeriod  time.Duration
	StatusPeriod time.Duration
	Zones        int
	StateDir     string
	// Socket is where the control API listens.
	Socket string
}

func (c *Config) setDefaults() {
	if c.NodePrefix == "" {
		c.NodePrefix = "node-"
	}
	if c.LeasePeriod <= 0 {
		c.LeasePeriod = 2 * time.Second
	}
	if c.StatusPeriod <= 0 {
		c.StatusPeriod = 10 * time.Second
	}
	if c.Zones < 1 {
		c.Zones = 1
	}
}

// lab is all machines, and what they share.
type lab struct {
	cfg      Config
	ctx      context.Context
	client   kubernetes.Interface
	pods     cache.Indexer
	attached cache.Indexer
	claims   cache.Indexer
	volumes  cache.Indexer
	writers  *writers
	machines map[string]*machine
	order    []*machine
	wg       sync.WaitGroup
}

// Run plays the machines until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	cfg.setDefaults()
	rc, err := clientcmd.BuildConfigFromFlags("", cfg.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	rc.QPS, rc.UserAgent = -1, "kubelet/lab"
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &lab{cfg: cfg, ctx: ctx, client: client, machines: map[string]*machine{}}
	defer l.wg.Wait()
	defer cancel()
	if l.writers, err = newWriters(filepath.Join(cfg.StateDir, "writers.jsonl")); err != nil {
		return err
	}
	defer l.writers.close()
	if err := l.storageObjects(); err != nil {
		return err
	}
	if err := l.watch(); err != nil {
		return err
	}
	for i := range cfg.Nodes {
		m, err := newMachine(l, i)
		if err != nil {
			return err
		}
		defer func() { _ = m.bmc.Close() }()
		l.machines[m.name] = m
		l.order = append(l.order, m)
	}
	return l.serve()
}

// serve answers the control API until ctx ends.
func (l *lab) serve() error {
	listener, err := net.Listen("unix", l.cfg.Socket)
	if err != nil {
		return fmt.Errorf("listen on the control socket: %w", err)
	}
	srv := &http.Server{Handler: l.control(), ReadHeaderTimeout: 5 * time.Second}
	l.wg.Go(func() {
		<-l.ctx.Done()
		_ = srv.Close()
	})
	if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control socket: %w", err)
	}
	return nil
}

// watch keeps one picture of pods and storage for all machines.
func (l *lab) watch() error {
	f := informers.NewSharedInformerFactory(l.client, 0)
	pods, vas := f.Core().V1().Pods().Informer(), f.Storage().V1().VolumeAttachments().Informer()
	claims, volumes := f.Core().V1().PersistentVolumeClaims().Informer(), f.Core().V1().PersistentVolumes().Informer()
	if err := pods.AddIndexers(cache.Indexers{"node": byNode}); err != nil {
		return err
	}
	l.pods, l.attached, l.claims, l.volumes = pods.GetIndexer(), vas.GetIndexer(), claims.GetIndexer(), volumes.GetIndexer()
	for inf, on := range map[cache.SharedIndexInformer]func(any){
		pods: l.podChanged, vas: l.attachmentChanged, claims: l.claimChanged, volumes: func(any) {},
	} {
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: on, UpdateFunc: func(_, obj any) { on(obj) }, DeleteFunc: on,
		})
		if err != nil {
			return err
		}
	}
	f.Start(l.ctx.Done())
	for kind, ok := range f.WaitForCacheSync(l.ctx.Done()) {
		if !ok {
			return fmt.Errorf("list %s: %w", kind, l.ctx.Err())
		}
	}
	l.wg.Go(func() { <-l.ctx.Done(); f.Shutdown() })
	return nil
}

func byNode(obj any) ([]string, error) {
	if p, ok := obj.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}, nil
	}
	return nil, nil
}

func (l *lab) podChanged(obj any) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	if p, ok := obj.(*corev1.Pod); ok {
		l.poke(p.Spec.NodeName)
	}
}

func (l *lab) attachmentChanged(obj any) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	if a, ok := obj.(*storagev1.VolumeAttachment); ok {
		l.attach(a)
		l.poke(a.Spec.NodeName)
	}
}

func (l *lab) poke(node string) {
	if m := l.machines[node]; m != nil {
		m.poke()
	}
}
