package model

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/golden"
)

// answersIn is how long one request takes.
const answersIn = 10 * time.Millisecond

// TestRequestsOfAFence counts the requests of one fence and its recovery to the API server, by
// function. Either one process serves all functions, as the local runner does, or each invocation
// is a process of its own, as on a platform that starts a function for each event. The golden
// file shows when a function reads more than before, or no longer reads something.
func TestRequestsOfAFence(t *testing.T) {
	var b strings.Builder
	for _, action := range []api.FenceAction{api.ActionReboot, api.ActionOff} {
		for _, kept := range []bool{true, false} {
			c := counted{world: newWorld(4, 1, roomForOne(action), false), asked: map[string]map[string]int{}}
			took := c.fence(t, kept)
			how := "each invocation a process of its own"
			if kept {
				how = "one process for all functions"
			}
			fmt.Fprintf(&b, "action %s, %s: %s\n", action, how, took)
			c.table(&b)
		}
	}
	golden.File(t, "testdata/requests.txt", b.String())
}

// counted is a world that counts the requests of each function.
type counted struct {
	*world
	asked map[string]map[string]int
	calls int
}

// fence goes from a dead node to the end of its fence, and says how long that takes.
func (c *counted) fence(t *testing.T, kept bool) time.Duration {
	all := map[string]run.Handler{}
	for c.now < time.Hour {
		if len(c.queue) == 0 {
			if f := c.world.fence("a"); f != nil && (f.Status.Phase == api.Finished || f.Status.Phase == api.Fenced) {
				return c.now
			}
			c.pass(c.due())
			c.notice()
			continue
		}
		d := c.queue[0]
		c.queue = c.queue[1:]
		for e := d.event(); d.owner() != ""; {
			if all[d.owner()] == nil || !kept {
				c.start(all)
			}
			reply, err := all[d.owner()](context.Background(), e)
			if err != nil {
				t.Fatal(err)
			}
			if reply == nil {
				break
			}
			e, d = *reply, delivery{reply.Type(), reply.Subject()}
		}
	}
	t.Fatal("the fence does not end")
	return 0
}

// start makes all functions, each in a process of its own.
func (c *counted) start(all map[string]run.Handler) {
	c.calls++
	p := process{call: c.call, now: func() time.Duration { return c.now }, me: fmt.Sprint("process-", c.calls), records: &loop.RecordCache{}}
	client, err := kube.NewAt(&rest.Config{Host: "http://model", Transport: counting{p, c}}, p.now)
	must(err)
	for _, name := range []string{gate.Name, isolate.Name, power.Name, cleanup.Name, recovery.Name} {
		all[name] = p.function(client, name)
	}
}

// call takes its time, which for a device has that of connecting in it.
func (c *counted) call(r request) (answer, error) {
	if !strings.HasPrefix(r.path, connections) {
		c.now += answersIn
	}
	return c.exec(r.signed()), nil
}

// counting counts requests on their way.
type counting struct {
	process
	c *counted
}

func (k counting) RoundTrip(r *http.Request) (*http.Response, error) {
	_, function, _ := strings.Cut(r.UserAgent(), "/")
	parts := strings.Split(strings.TrimSuffix(r.URL.Path, "/status"), "/")
	verb, kind := r.Method, parts[len(parts)-2]
	if _, list := kinds[r.URL.Path+"/"]; list || r.URL.Path == reports {
		kind = parts[len(parts)-1]
		if verb == http.MethodGet {
			verb = "LIST"
		}
	}
	if k.c.asked[function] == nil {
		k.c.asked[function] = map[string]int{}
	}
	k.c.asked[function][verb+" "+kind]++
	return k.process.RoundTrip(r)
}

// table has one line for each function.
func (c *counted) table(b *strings.Builder) {
	all := 0
	for _, function := range []string{gate.Name, isolate.Name, power.Name, cleanup.Name, recovery.Name} {
		n := 0
		var words []string
		for _, what := range slices.Sorted(maps.Keys(c.asked[function])) {
			n += c.asked[function][what]
			words = append(words, fmt.Sprintf("%s %d", what, c.asked[function][what]))
		}
		all += n
		fmt.Fprintf(b, "  %-8s %3d  %s\n", function, n, strings.Join(words, ", "))
	}
	fmt.Fprintf(b, "  %-8s %3d\n", "all", all)
}
