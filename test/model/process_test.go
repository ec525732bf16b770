package model

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/cleanup"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	requester "github.com/nodefence/nodefence/functions/request"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// caller is a process's way to the outside: the API server and the devices.
type caller func(request) (answer, error)

// errGone is the error for a process that has died, or must not continue.
var errGone = errors.New("this process has ended")

// machineRoom is where devices are, as requests have it.
const machineRoom = "/machines/"

// connections is where processes connect to devices, before they send them anything.
const connections = "/connections/"

// epoch is the model's time zero.
var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// process is the process in which a function runs.
type process struct {
	call caller
	// now is the time that the process sees pass; boot clocks begin at zero.
	now func() time.Duration
	// records, if set, are those that this process wrote last.
	records *loop.RecordCache
	// hands, if set, has what one invocation of this process hands to the next.
	hands *loop.Handoff
	// me identifies this invocation.
	me string
}

// reports takes Events. Nothing that the model has reads them, so a report is no step of a schedule.
const reports = "/api/v1/namespaces/default/events"

// RoundTrip makes a call of each HTTP request but a report: it is the real client's transport.
func (p process) RoundTrip(r *http.Request) (*http.Response, error) {
	q := request{method: r.Method, path: r.URL.Path, contentType: r.Header.Get("Content-Type"), by: p.me}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		q.body = body
	}
	if q.path == reports {
		return &http.Response{
			StatusCode: http.StatusCreated, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(q.body)), ContentLength: int64(len(q.body)),
		}, nil
	}
	a, err := p.call(q)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: a.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}, "Date": {epoch.Add(a.date).Format(http.TimeFormat)}},
		Body:   io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

func (p process) client() *kube.Client {
	c, err := kube.NewAt(&rest.Config{Host: "http://model", Transport: p}, p.now)
	must(err)
	return c
}

// code makes a function in a process.
type code func(p process, name string) run.Handler

// shipped is the code as it ships.
func shipped(p process, name string) run.Handler { return p.function(p.client(), name) }

// inOneProcess is the code as the local runner has it: the event that one function replies goes to
// the next function of the same process, which carries out what it is handed.
func inOneProcess(p process, name string) run.Handler {
	p.hands, p.records = &loop.Handoff{}, &loop.RecordCache{}
	c := p.client()
	return func(ctx context.Context, e event.Event) (reply *event.Event, err error) {
		for range hops {
			if reply, err = p.function(c, name)(ctx, e); err != nil || reply == nil {
				return nil, err
			}
			d := delivery{reply.Type(), reply.Subject()}
			if e, name = d.event(), d.owner(); name == "" {
				return nil, nil
			}
		}
		return reply, nil
	}
}

// hops is how many invocations of one process follow each other: from the gate past the Off.
const hops = 6

// function is a function as it ships, with a client that others may also use.
func (p process) function(c *kube.Client, name string) run.Handler {
	switch name {
	case gate.Name:
		g := p.gate(c)
		g.Loop = p.loop(c, name, gate.Phases, g)
		return g.Handle
	case isolate.Name:
		f := &isolate.Isolator{Client: c, Log: slog.New(slog.DiscardHandler)}
		f.Loop = p.loop(c, name, isolate.Phases, f)
		return f.Handle
	case power.Name:
		f := &power.Power{Client: c, Open: p.open}
		f.Loop = p.loop(c, name, power.Phases, f)
		return f.Handle
	case cleanup.Name:
		f := &cleanup.Cleaner{Client: c}
		f.Loop = p.loop(c, name, cleanup.Phases, f)
		return f.Handle
	case requester.Name:
		return p.requester(c, requests{c}).Handle
	case recovery.Name:
		f := &recovery.Recoverer{Client: c, Log: slog.New(slog.DiscardHandler)}
		f.Loop = p.loop(c, name, recovery.Phases, f)
		return f.Handle
	}
	panic("no function " + name)
}

func (p process) gate(c *kube.Client) *gate.Gate {
	return &gate.Gate{Client: c, Bind: bind, Log: slog.New(slog.DiscardHandler), Reporter: silent{}, RequestNamespaces: ask.Namespaces{asksIn}}
}

func (p process) loop(c *kube.Client, name string, owns []api.Phase, w loop.Function) *loop.Loop {
	return &loop.Loop{
		Function: name, Owns: owns, Store: c, Does: w, Reporter: silent{}, Source: source,
		Now: c.Clock().Now, Elapsed: c.Clock().Elapsed, Me: func() string { return p.me }, Conflict: kube.ErrConflict,
		Records: p.records, Handoff: p.hands,
	}
}

var source = events.SourceOf("model")

// silent gets the decisions and posts no Kubernetes Event, because no decision reads one.
type silent struct{}

func (silent) Decided(context.Context, report.Decision)             {}
func (silent) Refused(context.Context, report.Refusal)              {}
func (silent) Merged(context.Context, report.Refusal)               {}
func (silent) Remediated(context.Context, report.Remediation)       {}
func (silent) Alerted(context.Context, report.Refusal, string)      {}
func (silent) Checked(context.Context, report.Check)                {}
func (silent) Unsaved(context.Context, report.Unsaved)              {}
func (silent) Lost(context.Context, report.Loss)                    {}
func (silent) Ignored(context.Context, string, event.Event, string) {}

// bind gives each node the device of its own name.
func bind(_ context.Context, n *corev1.Node) (*config.Bound, error) {
	return &config.Bound{
		Devices: api.Named(api.Binding{Driver: "model", Address: n.Name, Identity: n.Name}), Over: func(*api.ResolvedPolicy) {},
	}, nil
}

func (p process) open(_ context.Context, b *api.Binding, _ power.Call) (device.Driver, error) {
	return driver{p, b.Address}, nil
}

// driver reaches a machine of the model in two calls, as the real ones do: it connects, which is
// scheduled like all other calls and so may take any time, checks the time of its claim, and
// sends.
type driver struct {
	process
	node string
}

func (d driver) State(ctx context.Context) (device.Reading, error) {
	a, err := d.send(ctx, http.MethodGet, "")
	if err != nil {
		return device.Reading{}, err
	}
	return device.Reading{Power: device.Power(a.body), Identity: d.node}, nil
}

func (d driver) Off(ctx context.Context) error { return d.control(ctx, device.Off) }
func (d driver) On(ctx context.Context) error  { return d.control(ctx, device.On) }

func (d driver) control(ctx context.Context, p device.Power) error {
	_, err := d.send(ctx, http.MethodPut, p)
	return err
}

// send has the request at the device right after the time was checked (step). A real Off or On is
// checked so by device.InTime; a real read ends with its context, whose time is the claim's too.
func (d driver) send(ctx context.Context, method string, p device.Power) (answer, error) {
	if _, err := d.call(request{method: http.MethodGet, path: connections + d.node, by: d.me}); err != nil {
		return answer{}, err
	}
	if err := device.InTime(ctx); err != nil {
		return answer{}, err
	}
	return d.call(request{method: method, path: machineRoom + d.node, body: []byte(p), by: d.me})
}

// delivery is an event on its way to its function: the part of it that decisions read.
type delivery struct {
	typ, node string
}

func (d delivery) owner() string {
	switch d.typ {
	case events.NodeUnhealthy, events.OfPhase(api.Pending), events.RequestFence:
		return gate.Name
	case events.FenceRequestChanged:
		return requester.Name
	case events.OfPhase(api.Isolating):
		return isolate.Name
	case events.OfPhase(api.Fencing), events.OfPhase(api.PoweringOn):
		return power.Name
	case events.OfPhase(api.Releasing):
		return cleanup.Name
	case events.OfPhase(api.Recovering), events.OfPhase(api.Fenced), events.OfPhase(api.Failed), events.FenceReported:
		return recovery.Name
	}
	return "" // Finished: nobody has anything to do
}

func (d delivery) String() string {
	return "event " + strings.TrimSuffix(strings.TrimPrefix(d.typ, "io.nodefence."), ".v1") + " of " + d.node
}

func (d delivery) event() event.Event {
	switch d.typ {
	case events.FenceRequestChanged:
		return source.FenceRequestChanged(d.node, named(d.node), "1", epoch)
	case events.RequestFence:
		return events.RequestByObject(d.node, string(source), named(d.node), epoch, epoch)
	}
	e := event.New()
	e.SetID("1")
	e.SetSource(string(source))
	e.SetType(d.typ)
	e.SetSubject(d.node)
	return e
}

// end is how a process ended: with an event or with none, or in an error, upon
// which its event is delivered again.
type end struct {
	reply delivery
	err   error
}

// do runs one function on one event to its end.
func (p process) do(d delivery, build code) end {
	reply, err := build(p, d.owner())(context.Background(), d.event())
	if err != nil || reply == nil {
		return end{err: err}
	}
	return end{reply: delivery{reply.Type(), reply.Subject()}}
}

// signed has the digest of its body.
func (r request) signed() request {
	r.sum = digestOf(r.body, []byte(r.method), []byte(r.contentType))
	return r
}
