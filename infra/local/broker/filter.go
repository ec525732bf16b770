package broker

import (
	"context"
	"fmt"
	"strings"

	cesql "github.com/cloudevents/sdk-go/sql/v2/parser"
	"github.com/cloudevents/sdk-go/v2/event"
	"go.uber.org/zap"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/attributes"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/logging"
)

// quietContext keeps Knative's filters from logging every event.
var quietContext = logging.WithLogger(context.Background(), zap.NewNop().Sugar())

// filters builds a Trigger's filter. Knative's filters evaluate the leaves; and, or and not
// are our own. Knative's run a goroutine each to reorder their members. They also skip a
// member that they can't read, so that a misspelled filter passes everything.
func (d *document) filters(s eventingv1.TriggerSpec) filter {
	if len(s.Filters) > 0 {
		return all(d.list("spec.filters", s.Filters))
	}
	if s.Filter != nil && len(s.Filter.Attributes) > 0 {
		return leaf(attributes.NewAttributesFilter(s.Filter.Attributes))
	}
	return all(nil)
}

func (d *document) list(path string, fs []eventingv1.SubscriptionsAPIFilter) []filter {
	var made []filter
	for i := range fs {
		made = append(made, d.one(fmt.Sprintf("%s[%d]", path, i), &fs[i]))
	}
	return made
}

func (d *document) one(path string, f *eventingv1.SubscriptionsAPIFilter) filter {
	if err := eventingv1.ValidateOneOf(f); err != nil {
		d.add(path, "more than one dialect")
		return nil
	}
	switch {
	case len(f.Exact) > 0:
		return d.byAttribute(path+".exact", f.Exact, subscriptionsapi.NewExactFilter)
	case len(f.Prefix) > 0:
		return d.byAttribute(path+".prefix", f.Prefix, subscriptionsapi.NewPrefixFilter)
	case len(f.Suffix) > 0:
		return d.byAttribute(path+".suffix", f.Suffix, subscriptionsapi.NewSuffixFilter)
	case len(f.All) > 0:
		return all(d.list(path+".all", f.All))
	case len(f.Any) > 0:
		return anyOf(d.list(path+".any", f.Any))
	case f.Not != nil:
		inner := d.one(path+".not", f.Not)
		return func(ctx context.Context, e event.Event) bool { return !inner(ctx, e) }
	case f.CESQL != "":
		return d.cesql(path+".cesql", f.CESQL)
	}
	d.add(path, "empty: it would pass every event")
	return nil
}

func (d *document) byAttribute(path string, values map[string]string, make func(map[string]string) (eventfilter.Filter, error)) filter {
	d.addAll(path, eventingv1.ValidateAttributesNames(values))
	f, err := make(values)
	if err != nil {
		d.add(path, err.Error())
		return nil
	}
	return leaf(f)
}

// cesql refuses an expression that can't be parsed, or that is not a condition. Knative
// accepts the latter, and panics at the first event.
func (d *document) cesql(path, expression string) filter {
	if errs := eventingv1.ValidateCESQLExpression(quietContext, expression); errs != nil {
		d.addAll(strings.TrimSuffix(path, ".cesql"), errs.ViaField("cesql"))
		return nil
	}
	parsed, err := cesql.Parse(expression)
	if err != nil {
		d.add(path, err.Error())
		return nil
	}
	if v, err := parsed.Evaluate(sample()); err == nil {
		if _, ok := v.(bool); !ok {
			d.add(path, fmt.Sprintf("gives %T, not true or false", v))
			return nil
		}
	}
	f, err := subscriptionsapi.NewCESQLFilter(expression)
	if err != nil {
		d.add(path, err.Error())
		return nil
	}
	return leaf(f)
}

// sample is an event to try an expression on.
func sample() event.Event {
	e := event.New()
	e.SetID("sample")
	e.SetSource("/sample")
	e.SetType("io.nodefence.sample.v1")
	e.SetSubject("node-0")
	return e
}

// leaf runs one filter of Knative's. A filter that panics passes nothing: an expression's
// type may depend on the event.
func leaf(f eventfilter.Filter) filter {
	return func(ctx context.Context, e event.Event) (pass bool) {
		defer func() {
			if recover() != nil {
				pass = false
			}
		}()
		return f.Filter(ctx, e) != eventfilter.FailFilter
	}
}

func all(fs []filter) filter {
	return func(ctx context.Context, e event.Event) bool {
		for _, f := range fs {
			if !f(ctx, e) {
				return false
			}
		}
		return true
	}
}

func anyOf(fs []filter) filter {
	return func(ctx context.Context, e event.Event) bool {
		for _, f := range fs {
			if f(ctx, e) {
				return true
			}
		}
		return false
	}
}

// addAll adds Knative's findings, each with the field that it names.
func (d *document) addAll(prefix string, errs *apis.FieldError) {
	for _, err := range errs.WrappedErrors() {
		if err.Level != apis.ErrorLevel {
			continue
		}
		for _, path := range err.Paths {
			text := err.Message
			if err.Details != "" {
				text += ": " + err.Details
			}
			d.add(join(prefix, path), text)
		}
	}
}

func join(prefix, path string) string {
	path = strings.TrimSuffix(path, ".")
	switch {
	case prefix == "":
		return path
	case path == "":
		return prefix
	case strings.HasPrefix(path, "["):
		return prefix + path
	}
	return prefix + "." + path
}
