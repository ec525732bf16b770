package model

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/policystatus"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/plan"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
	views "github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// The namespaces of nodefence and of its Secrets.
const (
	ownNamespace = "nodefence-system"
	secretsIn    = "nodefence-devices"
)

// wire carries the requests of a client to the model's API server. Of a kind that the model does not have there are
// no objects; a list has the objects of its selectors.
type wire struct {
	process
	turn *sync.Mutex
}

// wire returns a wire to the API server alone.
func (w *world) wire() wire {
	call := func(q request) (answer, error) {
		a := w.serve(q.signed())
		a.date, a.got = w.now, w.now
		return a, nil
	}
	return wire{process{call: call}, &sync.Mutex{}}
}

func (x wire) RoundTrip(r *http.Request) (*http.Response, error) {
	x.turn.Lock()
	defer x.turn.Unlock()
	if !isKind(r.URL.Path) && r.URL.Path != reports {
		call := x.call
		x.call = func(q request) (answer, error) {
			a := refuse(http.StatusNotFound, "NotFound", "there is no %s", q.path)
			if now, err := call(request{method: http.MethodGet, path: theLedger}); err == nil {
				a.date, a.got = now.date, now.got
			}
			return a, nil
		}
	}
	a, err := x.process.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet || a.StatusCode != http.StatusOK {
		return a, err
	}
	q := r.URL.Query()
	return selected(a, q.Get("labelSelector"), q.Get("fieldSelector"))
}

// isKind tells whether the model has the collection of a path.
func isKind(path string) bool {
	path = strings.TrimSuffix(path, "/status")
	_, list := kinds[path+"/"]
	_, object := kinds[path[:strings.LastIndex(path, "/")+1]]
	return list || object
}

// selected leaves in a list what the selectors choose. Of fields it knows spec.nodeName.
func selected(a *http.Response, byLabel, byField string) (*http.Response, error) {
	if byLabel+byField == "" {
		return a, nil
	}
	chooses, err := labels.Parse(byLabel)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(a.Body)
	if err != nil {
		return nil, err
	}
	list, items := decode(raw), []any{}
	for _, o := range list["items"].([]any) {
		var is struct {
			Metadata struct{ Labels labels.Set }
			Spec     struct{ NodeName string }
		}
		must(json.Unmarshal(encode(o), &is))
		if chooses.Matches(is.Metadata.Labels) && (byField == "" || byField == "spec.nodeName="+is.Spec.NodeName) {
			items = append(items, o)
		}
	}
	list["items"] = items
	raw = encode(list)
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return a, nil
}

// screens reads the world as people do.
type screens struct {
	*testing.T
	w *world
}

// seen returns what kubectl fence reads for status, why and the page, as of the world's time.
func (s screens) seen() views.Seen {
	s.Helper()
	c, err := cluster.New(&rest.Config{Host: "http://model", Transport: s.w.wire()})
	must(err)
	seen, err := c.Look(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	seen.Now = epoch.Add(s.w.now)
	return seen
}

// page returns what the pages show.
func (s screens) page() *page.Look { return &page.Look{Seen: s.seen().Indexed()} }

// settings are those of the functions and of kubectl fence plan.
var settings = functions.Settings{Namespace: ownNamespace, SecretsNamespace: secretsIn, RequestNamespaces: ask.Namespaces{asksIn}}

// plan returns the plan of one node.
func (s screens) plan(node string) plan.Report {
	s.Helper()
	all, _, err := plan.Make(context.Background(), &rest.Config{Host: "http://model", Transport: s.w.wire()}, plan.Options{Settings: settings, Node: node})
	if err != nil {
		s.Fatal(err)
	}
	return all[0]
}

// client is the client of a function.
func (w *world) client() *kube.Client {
	c, err := kube.NewAt(&rest.Config{Host: "http://model", Transport: w.wire()}, func() time.Duration { return w.now })
	must(err)
	return c
}

// count has policystatus write all statuses.
func (s screens) count() {
	s.Helper()
	c := s.w.client()
	k := &policystatus.Writer{Objects: c, Now: func() time.Time { return epoch.Add(s.w.now) }, Log: slog.New(slog.DiscardHandler)}
	if err := k.Write(context.Background()); err != nil {
		s.Fatal(err)
	}
}
