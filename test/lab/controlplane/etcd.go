package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

func runEtcd(ctx context.Context, cfg Config) error {
	server, err := startEtcd(ctx, cfg.Etcd)
	if err != nil {
		return err
	}
	defer server.Close()
	return waitEtcd(ctx, server)
}

// startEtcd returns when etcd takes requests.
func startEtcd(ctx context.Context, cfg Etcd) (*embed.Etcd, error) {
	server, err := embed.StartEtcd(etcdConfig(cfg))
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return server, nil
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return nil, fmt.Errorf("start etcd: %w", ctx.Err())
	}
}

func waitEtcd(ctx context.Context, server *embed.Etcd) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-server.Server.StopNotify():
		return errors.New("run etcd: it stopped by itself")
	}
}

func etcdConfig(cfg Etcd) *embed.Config {
	// Nobody dials what is advertised (one member, and the API server is told
	// the socket), but etcd insists on a host and a port.
	nowhere := url.URL{Scheme: "http", Host: "127.0.0.1:1"}

	etcd := embed.NewConfig()
	etcd.Name = "lab"
	etcd.Dir = cfg.DataDir
	etcd.UnsafeNoFsync = !cfg.Fsync
	etcd.ListenClientUrls = []url.URL{{Scheme: "unix", Path: cfg.ClientSocket}}
	// Of the peer's URL etcd takes the host for the path; without one it would
	// listen on an abstract socket, which every user of this machine can reach.
	etcd.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: cfg.PeerSocket}}
	etcd.AdvertiseClientUrls = []url.URL{nowhere}
	etcd.AdvertisePeerUrls = []url.URL{nowhere}
	etcd.InitialCluster = etcd.InitialClusterFromName(etcd.Name)
	etcd.LogLevel = "warn"
	return etcd
}
