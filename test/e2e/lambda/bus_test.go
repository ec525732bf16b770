package lambda

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodefence/nodefence/infra/aws"
	"github.com/nodefence/nodefence/shared/run/eventbridge/bustest"
)

// bus is EventBridge: it routes by the template's own rules.
type bus struct {
	*bustest.Server
	rules     []aws.Rule
	functions map[string]*function
	// copies is how often each event is handed to a function.
	copies int
	// refuse, if set, tells of each entry by number whether it is refused.
	refuse func(n int64) bool

	entries atomic.Int64
	mu      sync.Mutex
	seen    []bustest.Entry
}

// name is the stack's, and so the bus's.
const name = "nodefence"

func newBus(stack *aws.Stack) (b *bus, err error) {
	b = &bus{functions: map[string]*function{}, copies: 1}
	if b.rules, err = stack.Rules(); err != nil {
		return nil, err
	}
	b.Server = bustest.New(b.take)
	return b, nil
}

func (b *bus) take(e bustest.Entry) *bustest.Refusal {
	if e.EventBusName != name {
		return &bustest.Refusal{Code: "ResourceNotFoundException", Message: "no bus " + e.EventBusName}
	}
	if n := b.entries.Add(1); b.refuse != nil && b.refuse(n) {
		return &bustest.Refusal{Code: "InternalFailure", Message: "try again"}
	}
	b.mu.Lock()
	b.seen = append(b.seen, e)
	b.mu.Unlock()
	b.route(e.Source, e.DetailType, json.RawMessage(e.Detail))
	return nil
}

// route hands an event to the functions whose rules match it.
func (b *bus) route(source, detailType string, detail json.RawMessage) {
	payload := envelope(source, detailType, detail)
	for _, r := range b.rules {
		if r.Matches(source, detailType, detail) {
			for range b.copies {
				b.functions[r.Function].invoke(payload)
			}
		}
	}
}

// tick is what each scheduled rule does when its time comes.
func (b *bus) tick() {
	for _, r := range b.rules {
		if r.Schedule != "" {
			for range b.copies {
				b.functions[r.Function].invoke(envelope("aws.events", "Scheduled Event", json.RawMessage("{}")))
			}
		}
	}
}

// types are the detail types that were put, in order.
func (b *bus) types() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, e := range b.seen {
		all = append(all, e.DetailType)
	}
	return all
}

// last is the detail of the last event of a type.
func (b *bus) last(detailType string) json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range slices.Backward(b.seen) {
		if e.DetailType == detailType {
			return json.RawMessage(e.Detail)
		}
	}
	return nil
}

var envelopes atomic.Int64

// envelope is what a rule hands to its target.
func envelope(source, detailType string, detail json.RawMessage) []byte {
	out, _ := json.Marshal(map[string]any{
		"version": "0", "id": fmt.Sprintf("6a7e8feb-b491-4cf7-a9f1-%012d", envelopes.Add(1)), "detail-type": detailType,
		"source": source, "account": "123456789012", "time": time.Now().UTC().Format(time.RFC3339), "region": "eu-central-1",
		"resources": []string{"arn:aws:events:eu-central-1:123456789012:rule/" + name}, "detail": detail,
	})
	return out
}
