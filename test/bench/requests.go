package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodefence/nodefence/infra/local"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// asked is one kind of request: of whom, for what.
type asked struct{ function, verb, resource string }

// requests are counted by kind, watches left out.
type requests struct {
	mu sync.Mutex
	n  map[asked]int
}

func (c *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			c.mu.Lock()
			c.n[kindOf(r)]++
			c.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// take gives what was counted, and begins anew.
func (c *requests) take() map[asked]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.n
	c.n = map[asked]int{}
	return all
}

// kindOf reads the function from the User-Agent and the resource from the path.
func kindOf(r *http.Request) asked {
	a := asked{function: "source", verb: r.Method}
	if _, name, ok := strings.Cut(r.UserAgent(), "nodefence/"); ok {
		a.function = name
	}
	parts := pathOf(r)
	if len(parts) > 0 {
		a.resource = parts[0]
	}
	if len(parts) == 1 && r.Method == http.MethodGet {
		a.verb = "LIST"
	}
	if len(parts) == 3 {
		a.resource += "/" + parts[2]
	}
	return a
}

// pathOf is the resource, the object's name and the subresource, as far as they are there.
func pathOf(r *http.Request) []string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3
	}
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return parts
}

// measureRequests counts what one fence asks of the API server, of the defaults,
// with one pod with a volume on the node, at several sizes of cluster: those that
// NODES names (NODES="20 500"), or three.
func measureRequests(ctx context.Context) error {
	sizes := os.Getenv("NODES")
	if sizes == "" {
		sizes = "20 500 1500"
	}
	var all []error
	for _, word := range strings.Fields(sizes) {
		nodes, err := strconv.Atoi(word)
		if err == nil {
			err = requestsAt(ctx, nodes)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

func requestsAt(ctx context.Context, nodes int) (err error) {
	c, err := world(ctx, nodes, "--lease", "20s", "--grace", "100s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := errors.Join(c.Apply(ctx, rig.Policy("default", "precedence: 0")), c.Apply(ctx, rig.StatefulSet("db", 1))); err != nil {
		return err
	}
	victim, err := c.PodRunning(ctx, "db-0", "")
	if err != nil {
		return err
	}
	machines, err := c.Lab.Machines()
	if err == nil {
		err = c.BindOne(ctx, machines[victim])
	}
	if err != nil {
		return err
	}
	count := &requests{n: map[asked]int{}}
	p, err := c.Start(ctx, c.dir, io.Discard, func(o *local.Options) { o.Config.Wrap(count.wrap) })
	if err != nil {
		return err
	}
	defer p.Stop()
	err = rig.Until(ctx, "all Leases to be watched, and every node to be enrolled", func() (bool, error) {
		l, err := c.Fences.Ledger(ctx)
		if err != nil || int(l.Status.Leases.Total) != nodes {
			return false, nil
		}
		all, err := c.Fences.ConfigMaps(ctx, rig.Settings().Namespace)
		return err == nil && len(all) > nodes, nil
	})
	if err != nil {
		return err
	}
	return oneFence(ctx, c.Cluster, count, nodes, victim)
}

// quiet is how long the requests without a fence are counted.
const quiet = time.Minute

func oneFence(ctx context.Context, c *rig.Cluster, count *requests, nodes int, victim string) error {
	count.take()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(quiet):
	}
	standing := count.take()
	if err := c.Lab.Node(victim, "crash"); err != nil {
		return err
	}
	f, err := c.Phase(ctx, victim, api.Finished)
	if err != nil {
		return err
	}
	all := count.take()
	took := f.Status.PhaseSince.Sub(f.Status.OpenedAt.Time).Round(time.Second)
	fmt.Printf("%d nodes: one fence, from Ready=Unknown to Finished %s after it was opened\n", nodes, took)
	table(all)
	fmt.Printf("%d nodes: %d API requests for one fence and recovery:", nodes, sum(all, functions))
	for _, verb := range []string{"GET", "LIST", "POST", "PUT", "PATCH", "DELETE"} {
		fmt.Printf(" %s %d", verb, sum(all, func(a asked) bool { return functions(a) && a.verb == verb }))
	}
	fmt.Printf("; source, resync and policystatus without any fence: %d a minute\n", sum(standing, func(asked) bool { return true }))
	return nil
}

// functions are those that work on a fence; the source, resync and policystatus ask
// the same whether there is one or not.
func functions(a asked) bool {
	return !slices.Contains([]string{"source", "resync", "policystatus"}, a.function)
}

func sum(all map[asked]int, of func(asked) bool) (n int) {
	for a, m := range all {
		if of(a) {
			n += m
		}
	}
	return n
}

// table is one line a function: what it asked for, how often.
func table(all map[asked]int) {
	for _, function := range []string{"gate", "isolate", "power", "cleanup", "recover", "deadletter", "source", "resync", "policystatus", "request"} {
		mine := func(a asked) bool { return a.function == function }
		if sum(all, mine) == 0 {
			continue
		}
		var words []string
		for a := range maps.Keys(all) {
			if mine(a) {
				words = append(words, fmt.Sprintf("%s %s %d", a.verb, a.resource, all[a]))
			}
		}
		slices.Sort(words)
		fmt.Printf("  %-8s %3d  %s\n", function, sum(all, mine), strings.Join(words, ", "))
	}
}
