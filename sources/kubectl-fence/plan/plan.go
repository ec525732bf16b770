package plan

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/adopt"
	"github.com/nodefence/nodefence/shared/kube"
)

// Options say what is planned, and where its parts are.
type Options struct {
	// Settings are those of the functions that count here: the namespaces, the folder of the fence
	// agents, the images of Jobs, and the other projects' objects that give devices.
	functions.Settings
	// Node is the node to plan for; all nodes where it is empty.
	Node string
	// Read first has nodefence read the devices of Node now, and waits for the answer.
	Read bool
}

// Make returns the reports of one node, or of all, and which part of nodefence is absent in words; empty if none is
// known to be. Of cfg it sends nothing but reads, and under Read a patch of the node's FenceTarget.
func Make(ctx context.Context, cfg *rest.Config, o Options) (all []Report, absent string, err error) {
	if o.Adopt.Has(adopt.FAR) && len(o.FARNamespaces()) == 0 {
		return nil, "", errors.New("--adopt has far, and --adopt-namespaces has no namespace that --request-namespaces has too: nodefence would not start so")
	}
	asks := ""
	if o.Read {
		asks = o.Node
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return reads{next, asks} })
	client, err := kube.New(cfg)
	if err != nil {
		return nil, "", err
	}
	parts := functions.Parts{Settings: o.Settings, Client: client, Drivers: functions.DriversIn(client, o.Settings), Log: slog.New(slog.DiscardHandler)}
	w, err := readWorld(ctx, parts)
	if err == nil && o.Read {
		err = w.ask(ctx, o.Node)
	}
	if err != nil {
		return nil, "", err
	}
	all, err = w.reports(ctx, o.Node)
	return all, w.seen().Absent(), err
}

// Bad tells whether the node is refused, or one of its devices is known not to answer.
func (r *Report) Bad() bool { return r.Refused != "" || r.broken() != "" }

// What Report.Now says of a fence that nothing holds, and of one that a person is asked about.
const (
	wouldBegin = "would begin"
	wouldAsk   = "would wait for a person: "
)

// Held says why a fence of the node would not begin now; empty if it would, maybe once a person has
// approved it.
func (r *Report) Held() string {
	switch {
	case r.Refused != "":
		return "it would be refused: " + r.Refused
	case r.Unknown != "":
		return "it could not be found out whether it would begin: " + r.Unknown
	case r.Now == wouldBegin, strings.HasPrefix(r.Now, wouldAsk):
		return ""
	}
	return r.Now
}

// NotBack says why no device would switch the machine of a fence that begins now off and on again;
// empty if one would.
func (r *Report) NotBack() string {
	switch {
	case r.Device == nil:
		return "no device switches its machine: it is only cut off, and given back once it has rebooted or uses nothing of that any more"
	case r.StaysOff != "":
		return "its machine would stay off: " + r.StaysOff
	}
	return ""
}
