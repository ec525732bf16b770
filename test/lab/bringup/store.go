package bringup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/nodefence/nodefence/test/lab/labdir"
)

const (
	// quietReads is how many reads in a row must find the same before a store counts as quiet.
	quietReads = 8
	// storePage is how many operations one of etcd's transactions takes.
	storePage = 128
)

// content maps keys of etcd to values.
type content map[string][]byte

// volatile are the prefixes of keys that a control plane writes by itself, all the time or when a
// controller first needs a ServiceAccount. Events of the namespace default are about nodes, and are reset.
var volatile = []string{
	"/registry/leases/kube-system/apiserver-",
	"/registry/events/kube-system/",
	"/registry/serviceaccounts/kube-system/",
	"compact_rev_key",
}

func isVolatile(key string) bool {
	return slices.ContainsFunc(volatile, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// withStore connects to the etcd of a lab for one job, which has apiLimit.
func withStore(ctx context.Context, dir labdir.Dir, do func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, apiLimit)
	defer cancel()
	store, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + dir.File("etcd.sock")}, DialTimeout: requestLimit, Logger: zap.NewNop(),
		MaxCallSendMsgSize: 64 << 20,
	})
	if err != nil {
		return fmt.Errorf("reach etcd: %w", err)
	}
	defer store.Close()
	return do(ctx, store)
}

// readStore returns what etcd holds, without volatile keys. created has the keys in the order in which
// they were created.
func readStore(ctx context.Context, store *clientv3.Client) (now content, created []string, err error) {
	all, err := store.Get(ctx, "", clientv3.WithPrefix())
	if err != nil {
		return nil, nil, fmt.Errorf("read etcd: %w", err)
	}
	slices.SortFunc(all.Kvs, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	now = content{}
	for _, one := range all.Kvs {
		if key := string(one.Key); !isVolatile(key) {
			now[key] = one.Value
			created = append(created, key)
		}
	}
	return now, created, nil
}

// awaitQuiet waits until the control plane has written nothing during quietReads reads.
func awaitQuiet(ctx context.Context, store *clientv3.Client) (content, error) {
	var last content
	err := awaitSame(ctx, func() (string, error) {
		now, created, err := readStore(ctx, store)
		if err != nil {
			return "", err
		}
		changes := listChanges(last, now, created)
		last = now
		return nameKeys(changes), nil
	})
	return last, err
}

// takeBack makes the content of a lab's etcd equal to kept, until nobody changes it any more.
func takeBack(ctx context.Context, dir labdir.Dir, kept content) error {
	return withStore(ctx, dir, func(ctx context.Context, store *clientv3.Client) error {
		return awaitSame(ctx, func() (string, error) {
			now, created, err := readStore(ctx, store)
			if err != nil {
				return "", err
			}
			changes := listChanges(kept, now, created)
			for page := range slices.Chunk(changes, storePage) {
				if _, err := store.Txn(ctx).Then(page...).Commit(); err != nil {
					return "", fmt.Errorf("write etcd: %w", err)
				}
			}
			return nameKeys(changes), nil
		})
	})
}

// awaitSame calls look until quietReads calls in a row find nothing that differs.
func awaitSame(ctx context.Context, look func() (differs string, err error)) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for same := 0; same < quietReads; {
		differs, err := look()
		if err != nil {
			return err
		}
		if same++; differs != "" {
			same = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: still written is %s", ctx.Err(), differs)
		}
	}
	return nil
}

// listChanges returns the operations that make now equal to want: objects are deleted in the order of
// their creation, so that an owner goes before what its controller would create again.
func listChanges(want, now content, created []string) []clientv3.Op {
	var ops []clientv3.Op
	for _, key := range created {
		if _, wanted := want[key]; !wanted {
			ops = append(ops, clientv3.OpDelete(key))
		}
	}
	for key, value := range want {
		if is, there := now[key]; !there || !bytes.Equal(is, value) {
			ops = append(ops, clientv3.OpPut(key, string(value)))
		}
	}
	return ops
}

// nameKeys names the first keys of ops.
func nameKeys(ops []clientv3.Op) string {
	var keys []string
	for _, op := range ops[:min(len(ops), 5)] {
		keys = append(keys, string(op.KeyBytes()))
	}
	return strings.Join(keys, ", ")
}

func readKept(dir labdir.Dir) (content, error) {
	raw, err := os.ReadFile(keptFile(dir))
	if err != nil {
		return nil, fmt.Errorf("read what was kept: %w", err)
	}
	var kept content
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, fmt.Errorf("parse what was kept: %w", err)
	}
	return kept, nil
}
