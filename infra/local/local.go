package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/functions/deadletter"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	recovery "github.com/nodefence/nodefence/functions/recover"
	"github.com/nodefence/nodefence/infra/knative"
	"github.com/nodefence/nodefence/infra/local/asks"
	"github.com/nodefence/nodefence/infra/local/broker"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/sources/apiserver"
	"github.com/nodefence/nodefence/sources/program"
)

// places is how many events are handled at once by each function that waits for devices, or gives
// way to others. A device that hangs takes its place for as long as a call may take, and a place
// costs next to nothing.
var places = map[string]int{power.Name: 512, isolate.Name: 512, recovery.Name: 512}

// Options are the choices of Start.
type Options struct {
	Config *rest.Config
	// DataDir is where the broker stores its events.
	DataDir string
	// Triggers is a file of Knative Triggers; if empty, the Triggers that come with
	// nodefence.
	Triggers string
	// OutwardTriggers is a file of Knative Triggers that carry events to subscribers outside of this process; it need
	// not exist.
	OutwardTriggers string
	Settings        functions.Settings
	Log             *slog.Logger
	// Drivers are those of functions.DriversIn if nil.
	Drivers map[string]device.Kind
	// CheckEvery is the interval in which each device of a node is read for its
	// FenceTarget; 0 is never.
	CheckEvery time.Duration
	// Elect lets several local runners share a cluster: only one of them sends.
	Elect bool
	// Accounts is the namespace of the ServiceAccounts nodefence-<function>. If it is set, each function and the
	// source act as their own account, and the account of Config needs only the right to impersonate these.
	Accounts string
	// NoSync trades the broker's durability for speed, for runs whose events may be lost.
	NoSync bool
}

// Local is a running nodefence.
type Local struct {
	Client   *kube.Client
	Broker   *broker.Keeper
	Registry *prometheus.Registry
	parts    functions.Parts
	source   *apiserver.Source
	log      *slog.Logger
	dead     run.Handler
	outward  outward
	// longest is how long an invocation may take.
	longest time.Duration
}

// account returns the user name of a function's ServiceAccount.
func (o Options) account(function string) string {
	return "system:serviceaccount:" + o.Accounts + ":nodefence-" + function
}

// configs are those of the functions' client and of the source's watches.
func (o Options) configs(busy *traffic) (all, watches *rest.Config) {
	all, watches = rest.CopyConfig(o.Config), rest.CopyConfig(o.Config)
	all.Wrap(busy.counted)
	if o.Accounts != "" {
		kube.ActAs(all, o.account)
		watches.Impersonate = rest.ImpersonationConfig{UserName: o.account(apiserver.Name)}
	}
	return all, watches
}

// New connects to the cluster, opens the broker and builds all parts. Run starts them;
// Close releases the broker's folder.
func New(ctx context.Context, o Options) (*Local, error) {
	triggers, err := loadTriggers(o.Triggers)
	if err != nil {
		return nil, err
	}
	o.Settings.Function = "" // this process serves all functions, whatever its environment names
	reg := program.Registry()
	busy := &traffic{}
	cfg, watches := o.configs(busy)
	first := kube.WithFunction(ctx, gate.Name) // the account for what New itself reads
	parts, err := functions.NewParts(first, o.Settings, cfg, o.Log, reg)
	if err != nil {
		return nil, err
	}
	if err := parts.Adoptable(); err != nil {
		return nil, err
	}
	if o.Drivers != nil {
		parts.Drivers = o.Drivers
	}
	parts.Handoff, parts.Reporter = &loop.Handoff{}, asks.Reporter(parts.Reporter)
	if err := installed(first, parts.Client, o.Log); err != nil {
		return nil, err
	}
	l := &Local{
		Client: parts.Client, Registry: reg, parts: parts, log: o.Log, longest: o.Settings.InvocationTimeout(),
		outward: loadOutward(o.OutwardTriggers, triggers),
	}
	if err := l.openBroker(ctx, o, triggers, busy); err != nil {
		return nil, err
	}
	if err := l.makeSource(o, watches); err != nil {
		return nil, errors.Join(err, l.Broker.Close())
	}
	return l, nil
}

// makeSource makes the source, which sends to the broker of this process.
func (l *Local) makeSource(o Options, watches *rest.Config) (err error) {
	l.source, err = apiserver.New(apiserver.Options{
		Config: watches, Client: l.Client, Sender: sender{l.Broker}, Logger: o.Log, Source: l.parts.Source,
		Namespace: o.Settings.Namespace, Resync: facts.Resync, Identity: program.Identity("local"), Elect: o.Elect, Self: o.Settings.Self, Registerer: l.Registry,
		CheckEvery: o.CheckEvery, RequestNamespaces: o.Settings.RequestNamespaces, Traces: l.parts.Traces,
	})
	return err
}

// openBroker opens the broker, which routes events to the functions by the Triggers.
func (l *Local) openBroker(ctx context.Context, o Options, triggers []broker.Trigger, busy *traffic) (err error) {
	if err := l.outward.refused; err != nil {
		o.Log.Error("events are carried to nobody outside", "error", err.Error())
	}
	handlers := functions.Handlers(l.parts)
	l.dead = handlers[deadletter.Name]
	l.parts.Call = functions.InProcess(handlers) // resync sends again what is overdue, and waits for nothing
	l.Broker, err = broker.Keep(ctx, broker.Options{
		HandlerTimeout: l.longest,
		Dir:            filepath.Join(o.DataDir, "broker"), Triggers: slices.Concat(triggers, l.outward.triggers), Handlers: busy.givingWay(handlers),
		Outward: l.outward.handlers,
		Logger:  o.Log, OnDeadLetter: l.deadLetter, Redact: redact, Metrics: l.Registry, NoSync: o.NoSync, Places: places,
	})
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	l.parts.Sender = sender{l.Broker}
	return nil
}

// Run sends and handles events until ctx ends. The clocks need neither source nor broker
// (S19: a lost event costs time only).
func (l *Local) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, clock := range l.parts.Clocks() {
		beside.Go(func() { clock(ctx) })
	}
	beside.Go(func() { l.Broker.Run(ctx) })
	return l.source.Run(ctx)
}

// Handlers are the functions, which take an event at once, however busy the API server is.
func (l *Local) Handlers() map[string]run.Handler { return functions.Handlers(l.parts) }

// Close ends the broker. Events that it had not delivered are delivered after the next
// start. Then it sends the spans that wait.
func (l *Local) Close() error {
	defer l.parts.Traces.Close()
	return l.Broker.Close()
}

// HTTP serves POST / for CloudEvents, and what Probes serves.
func (l *Local) HTTP() http.Handler {
	take := run.Accepting(func(ctx context.Context, e event.Event) (*event.Event, error) { return nil, l.Broker.Publish(ctx, e) })
	return run.Mux(run.HTTP(take, run.HTTPOptions{Logger: l.log}), l.probes())
}

// Requests serves POST / for events that ask for a fence by a token, from senders that this process does not know.
func (l *Local) Requests() http.Handler {
	review := func(ctx context.Context, token, audience string) (*kube.User, string, error) {
		return l.Client.ReviewToken(kube.WithFunction(ctx, gate.Name), token, audience)
	}
	t := asks.Taker{Gate: l.Handlers()[gate.Name], Review: review, Publish: l.Broker.Publish, Log: l.log, Invocation: l.longest}
	return t.HTTP()
}

// Probes serves /healthz, /readyz and /metrics, and takes no events.
func (l *Local) Probes() http.Handler { return run.Mux(nil, l.probes()) }

func (l *Local) probes() run.Probes {
	return run.Probes{
		Live:    l.Broker.Health,
		Ready:   func(ctx context.Context) error { return l.Ready(ctx) },
		Detail:  l.detail,
		Metrics: promhttp.HandlerFor(l.Registry, promhttp.HandlerOpts{}),
	}
}

// detail says for /readyz what is switched on and doesn't work, although nodefence does.
func (l *Local) detail() string {
	return strings.Trim(l.parts.Detail()+"\n"+l.outward.words(), "\n")
}

// Ready returns what is missing, if anything.
func (l *Local) Ready(ctx context.Context) error {
	return errors.Join(l.Client.Ready(ctx), l.Broker.Ready(), l.source.Ready())
}

// deadLetter sends an event that the broker gave up to the function deadletter, as a
// cluster's broker does.
//
// An event that nobody outside took is in the broker's log alone: no fence waits for it.
func (l *Local) deadLetter(e event.Event, trigger string, err error) {
	if l.outward.handlers[trigger] != nil {
		return
	}
	e = events.Redacted(e).Clone()
	e.SetExtension(deadletter.ErrorDest, "trigger "+trigger)
	e.SetExtension(deadletter.ErrorData, err.Error())
	if _, err := l.dead(context.Background(), e); err != nil {
		l.log.Error("dead letter", "trigger", trigger, "event", e.ID(), "type", e.Type(), "node", e.Subject(), "error", err.Error())
	}
}

// redact removes a request's token from the event that the broker keeps (S29: no secret is
// shown).
func redact(e event.Event) (event.Event, bool) { return events.Redacted(e), events.HasToken(e) }

func loadTriggers(path string) ([]broker.Trigger, error) {
	if path == "" {
		return broker.Parse("triggers.yaml", knative.Triggers)
	}
	return broker.Load(path)
}

// installed refuses to start if nodefence's kinds are missing; otherwise the first fence
// would fail. An API server that is too busy to answer in time is asked again for a minute.
func installed(ctx context.Context, c *kube.Client, log *slog.Logger) error {
	var err error
	_ = wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		var late net.Error
		if _, err = c.Policies(ctx); !errors.As(err, &late) || !late.Timeout() {
			return true, nil
		}
		log.Warn("the API server has not answered in time, and is asked again", "error", err.Error())
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("read nodefence's kinds: %w", err)
	}
	return nil
}

// sender lets the source publish to the broker in this process.
type sender struct{ *broker.Keeper }

func (s sender) Send(ctx context.Context, e event.Event) error { return s.Publish(ctx, e) }
