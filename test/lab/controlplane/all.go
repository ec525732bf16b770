package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	"k8s.io/klog/v2"
)

// shutdownLimit bounds how long the API server may take to let its watchers
// go: whoever ends a lab waits for it.
const shutdownLimit = 5 * time.Second

func runAll(ctx context.Context, cfg Config) error {
	logs.InitLogs()
	defer logs.FlushLogs()
	// As upstream's commands do: the parts watch deprecated APIs on purpose.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	etcd, err := startEtcd(ctx, cfg.Etcd)
	if err != nil {
		return err
	}
	// Last of all, or the API server would spend its shutdown on retries.
	defer etcd.Close()
	klog.InfoS("etcd is ready")

	done := make(chan error, 1)
	go func() { done <- runKubernetes(ctx, cfg) }()
	select {
	case err := <-done:
		return err
	case err := <-etcd.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(shutdownLimit):
		klog.InfoS("Not all parts ended in time, leaving without them")
	}
	return nil
}

// runKubernetes returns when any part has ended, and all have been told to.
func runKubernetes(ctx context.Context, cfg Config) error {
	group, ctx := errgroup.WithContext(ctx)
	start := func(name string, run func(context.Context) error) {
		group.Go(func() error {
			err := run(ctx)
			if ctx.Err() == nil {
				return fmt.Errorf("%s ended: %w", name, orUnexpected(err))
			}
			return nil
		})
	}
	start("kube-apiserver", func(ctx context.Context) error { return runAPIServer(ctx, cfg) })
	// The others give up soon if there is no API server to talk to.
	if err := waitReady(ctx, cfg.Kubeconfig); err != nil || ctx.Err() != nil {
		return errors.Join(err, group.Wait())
	}
	klog.InfoS("The API server is ready")
	start("kube-controller-manager", func(ctx context.Context) error { return runControllerManager(ctx, cfg) })
	start("kube-scheduler", func(ctx context.Context) error { return runScheduler(ctx, cfg) })
	return group.Wait()
}

func orUnexpected(err error) error {
	if err == nil {
		return errors.New("for no stated reason")
	}
	return err
}

// waitReady returns nil also when ctx ends: then it is that which matters.
func waitReady(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("load kubeconfig: %w", err)
	}
	config.Timeout = time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
