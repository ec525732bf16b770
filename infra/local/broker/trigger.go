package broker

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/rickb777/date/period"
	duckv1 "knative.dev/eventing/pkg/apis/duck/v1"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
)

// subscriberPrefix and a function's name make the name of the function's Service.
const subscriberPrefix = "nodefence-"

// Trigger sends the events that pass its filter to one subscriber. Only Load, Parse and ParseOutward make a
// Trigger, so that every Trigger has been checked.
type Trigger struct {
	// Name is the object's name.
	Name string
	// Function is the subscriber's name without its prefix; empty if the subscriber is outside of this process.
	Function string
	// URI is the address of a subscriber outside of this process; empty for a function.
	URI string
	// Retries is how often a failed delivery is repeated.
	Retries int

	backoff    func(retry int) time.Duration
	pass       filter
	subscriber position
}

// Matches reports whether e goes to this Trigger's function.
func (t *Trigger) Matches(e event.Event) bool {
	return t.pass(quietContext, e)
}

// Backoff is the wait before a retry, counted from 0. The values are those of Knative's
// dispatcher. With a linear policy the first wait is zero.
func (t *Trigger) Backoff(retry int) time.Duration {
	return t.backoff(retry)
}

func retries(d *duckv1.DeliverySpec) int {
	if d == nil || d.Retry == nil {
		return 0
	}
	return int(*d.Retry)
}

func backoff(d *duckv1.DeliverySpec) func(int) time.Duration {
	none := func(int) time.Duration { return 0 }
	if d == nil || d.BackoffPolicy == nil || d.BackoffDelay == nil {
		return none
	}
	p, err := period.Parse(*d.BackoffDelay)
	if err != nil {
		return none // Validate refuses other values
	}
	delay, _ := p.Duration()
	if *d.BackoffPolicy == duckv1.BackoffPolicyLinear {
		return func(retry int) time.Duration { return delay * time.Duration(retry) }
	}
	return func(retry int) time.Duration {
		return delay * time.Duration(math.Exp2(float64(min(retry, 16))))
	}
}

// durable is the Trigger's name in a form that JetStream accepts. A Kubernetes name may
// have dots, which JetStream refuses, and has no underscores.
func (t *Trigger) durable() string {
	return strings.ReplaceAll(t.Name, ".", "_")
}

// function reads the subscriber. It must be a Service by name: a function in this process
// has no URI.
func (d *document) function(s eventingv1.TriggerSpec) string {
	switch ref := s.Subscriber.Ref; {
	case s.Subscriber.URI != nil:
		d.add("spec.subscriber.uri", "not served here: name a Service in ref")
	case ref == nil:
		d.add("spec.subscriber.ref", "missing")
	case ref.Kind != "Service" || (ref.APIVersion != "serving.knative.dev/v1" && ref.APIVersion != "v1"):
		d.add("spec.subscriber.ref", fmt.Sprintf("%s %s is not a Service of serving.knative.dev/v1 or v1",
			ref.APIVersion, ref.Kind))
	default:
		name, ok := strings.CutPrefix(ref.Name, subscriberPrefix)
		if ok && name != "" {
			return name
		}
		d.add("spec.subscriber.ref.name", fmt.Sprintf("%q is not %s<function>", ref.Name, subscriberPrefix))
	}
	return ""
}

// address reads a subscriber outside of this process: an http or https URI.
func (d *document) address(s eventingv1.TriggerSpec) string {
	u := s.Subscriber.URI
	switch {
	case s.Subscriber.Ref != nil:
		d.add("spec.subscriber.ref", "not resolved here: write the address of the subscriber into uri")
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		d.add("spec.subscriber.uri", "is not an http or https URL")
	case u.User != nil:
		d.add("spec.subscriber.uri", "holds a user or a password, which would be shown in logs")
	default:
		return u.String()
	}
	return ""
}

// filter reports whether an event passes.
type filter func(context.Context, event.Event) bool
