package lambda

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// function is one Lambda function: processes that handle one event at a time
// each, asynchronous invocation with its retries, and a place for what failed.
type function struct {
	name      string
	bootstrap string
	env       map[string]string
	log       io.Writer
	// retries is the template's MaximumRetryAttempts.
	retries int
	// failed gets the events that were given up.
	failed func(record []byte)

	places chan *place
	count  atomic.Int64
	// over ends the retries.
	over chan struct{}

	mu      sync.Mutex
	closed  bool
	pending sync.WaitGroup
	live    map[*process]bool
}

// place is where a process runs. A new one is started where the old one died.
type place struct{ process *process }

// retryAfter is a minute at Lambda.
const retryAfter = 300 * time.Millisecond

// scale gives the function so many processes.
func (f *function) scale(n int) {
	f.places, f.over, f.live = make(chan *place, n), make(chan struct{}), map[*process]bool{}
	for range n {
		f.places <- &place{}
	}
}

// invoke queues an event, as Lambda's asynchronous invocation does.
func (f *function) invoke(payload []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.pending.Go(func() { f.try(payload) })
	}
}

func (f *function) try(payload []byte) {
	var err error
	for n := 0; n <= f.retries; n++ {
		if n > 0 {
			select {
			case <-time.After(retryAfter * time.Duration(n)):
			case <-f.over:
				return
			}
		}
		if err = f.run(payload); err == nil {
			return
		}
	}
	if f.failed != nil {
		f.failed(record(f.name, payload, err))
	}
}

// run lets one process handle the event.
func (f *function) run(payload []byte) error {
	var at *place
	select {
	case at = <-f.places:
	case <-f.over:
		return nil
	}
	defer func() { f.places <- at }()
	p, err := f.at(at)
	if err != nil {
		return err
	}
	return p.invoke(&invocation{id: fmt.Sprintf("%s-%d", f.name, f.count.Add(1)), payload: payload, ended: make(chan error, 1)})
}

// at is the process of a place, started if there is none.
func (f *function) at(at *place) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at.process != nil && at.process.runs() {
		return at.process, nil
	}
	delete(f.live, at.process)
	p, err := startProcess(f.bootstrap, f.env, f.log)
	if err == nil {
		at.process, f.live[p] = p, true
	}
	return p, err
}

// processes are those that were started and not yet missed.
func (f *function) processes() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.live))
}

// kill is SIGKILL to every process of the function, whatever it is doing.
func (f *function) kill() {
	for _, p := range f.processes() {
		p.kill()
	}
}

// close takes no more events; wait returns when those it has have ended.
func (f *function) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	close(f.over)
}

func (f *function) wait() { f.pending.Wait() }

// record is what Lambda sends to a destination on failure.
func record(name string, payload []byte, cause error) []byte {
	response := json.RawMessage(cause.Error())
	if !json.Valid(response) {
		response, _ = json.Marshal(map[string]string{"errorMessage": cause.Error()})
	}
	out, _ := json.Marshal(map[string]any{
		"version": "1.0",
		"requestContext": map[string]any{
			"functionArn": "arn:aws:lambda:eu-central-1:123456789012:function:nodefence-" + name + ":$LATEST", "condition": "RetriesExhausted",
		},
		"requestPayload": json.RawMessage(payload), "responsePayload": response,
	})
	return out
}
