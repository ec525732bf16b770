package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	client "go.etcd.io/etcd/client/v3/snapshot"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// snapshotLimit is for a lab's etcd, which holds some megabytes.
const snapshotLimit = 30 * time.Second

// saveSnapshot does what "etcdctl snapshot save" does.
func saveSnapshot(ctx context.Context, cfg Etcd, to string) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotLimit)
	defer cancel()
	etcd := clientv3.Config{Endpoints: []string{"unix://" + cfg.ClientSocket}, DialTimeout: snapshotLimit}
	if _, err := client.SaveWithVersion(ctx, zap.NewNop(), etcd, to); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// unpackSnapshot does what "etcdutl snapshot restore" does: the snapshot is checked,
// and etcd's revision is the snapshot's, so that it goes back in time.
func unpackSnapshot(cfg Etcd, from, folder string) error {
	etcd := etcdConfig(cfg)
	var peers []string
	for _, url := range etcd.AdvertisePeerUrls {
		peers = append(peers, url.String())
	}
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: from, OutputDataDir: folder, Name: etcd.Name, PeerURLs: peers,
		InitialCluster: etcd.InitialCluster, InitialClusterToken: etcd.InitialClusterToken,
	})
	if err != nil {
		return fmt.Errorf("unpack snapshot: %w", err)
	}
	return nil
}
