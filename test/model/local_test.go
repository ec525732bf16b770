package model

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"time"
)

// digest tells contents apart.
type digest [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func digestOf(parts ...[]byte) digest {
	var d digest
	for i, s := range seeds {
		var h maphash.Hash
		h.SetSeed(s)
		for _, p := range parts {
			_, _ = h.Write(p)
			_ = h.WriteByte(0xff)
		}
		d[i] = h.Sum64()
	}
	return d
}

func (d digest) append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, d[0]), d[1])
}

// local is the point that one invocation has reached. What code does depends only on its event,
// the time at which it begins and the answers that it gets. So one row of answers leads to one
// point, however many interleavings lead there.
type local struct {
	id     int
	parent *local
	answer answer
	// asks is the call that it makes next; nil when it has ended.
	asks *request
	end  end
	next map[digest]*local
	// live is a goroutine that waits at this point; nil once it has continued or was ended.
	live *running
}

// codebase runs the code, and keeps the results.
type codebase struct {
	build code
	roots map[string]*local
	size  int
	// idle are the locals whose goroutines wait, oldest first.
	idle []*local
	runs int
}

func newCodebase(build code) *codebase { return &codebase{build: build, roots: map[string]*local{}} }

// mostIdle bounds the goroutines that wait for an answer. One that was ended because of this
// bound is started again when it is needed, with the answers that it had.
const mostIdle = 256

// freshFor is how long a goroutine may wait: the HTTP client within which it waits counts the
// machine's own time, and would give up.
const freshFor = 8 * time.Second

// begin is an invocation at its first call.
func (c *codebase) begin(d delivery, me string, at time.Duration) *local {
	k := fmt.Sprint(d, me, at)
	if c.roots[k] == nil {
		l := &local{answer: answer{got: at}}
		c.roots[k] = l
		c.stand(c.start(d, me, at), l)
	}
	return c.roots[k]
}

// after is that invocation once it has this answer.
func (c *codebase) after(p *proc, a answer) *local {
	var b [36]byte
	k := digestOf(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(
		binary.LittleEndian.AppendUint32(a.sum.append(b[:0]), uint32(a.code)), uint64(a.date)), uint64(a.got)))
	if n := p.at.next[k]; n != nil {
		return n
	}
	r := p.at.live
	p.at.live = nil
	if r == nil || time.Since(r.since) > freshFor {
		r.leave()
		r = c.again(p)
	}
	n := &local{parent: p.at, answer: a}
	if p.at.next == nil {
		p.at.next = map[digest]*local{}
	}
	p.at.next[k] = n
	r.answers <- a
	c.stand(r, n)
	return n
}

// again runs the code from its beginning to the point p.
func (c *codebase) again(p *proc) *running {
	var log []answer
	root := p.at
	for ; root.parent != nil; root = root.parent {
		log = append(log, root.answer)
	}
	r := c.start(p.delivery, p.me, root.answer.got)
	for _, a := range slices.Backward(log) {
		<-r.asks
		r.answers <- a
	}
	<-r.asks
	return r
}

// stand waits until a goroutine has got to its next call, or to its end.
func (c *codebase) stand(r *running, l *local) {
	c.size++
	l.id = c.size
	select {
	case q := <-r.asks:
		l.asks, l.live, r.since = &q, r, time.Now()
	case l.end = <-r.ended:
		return
	}
	c.idle = append(c.idle, l)
	if len(c.idle) > mostIdle {
		c.idle[0].live.leave()
		c.idle[0].live = nil
		c.idle = c.idle[1:]
	}
}

// close ends all that wait.
func (c *codebase) close() {
	for _, l := range c.idle {
		l.live.leave()
		l.live = nil
	}
	c.idle = nil
}

// running is one goroutine in which the code runs.
type running struct {
	asks    chan request
	answers chan answer
	ended   chan end
	gone    chan struct{}
	since   time.Time
}

func (c *codebase) start(d delivery, me string, at time.Duration) *running {
	c.runs++
	r := &running{asks: make(chan request), answers: make(chan answer), ended: make(chan end, 1), gone: make(chan struct{})}
	now := at
	p := process{me: me, now: func() time.Duration { return now }, call: func(q request) (answer, error) {
		select {
		case r.asks <- q.signed():
		case <-r.gone:
			return answer{}, errGone
		}
		select {
		case a := <-r.answers:
			now = a.got
			return a, nil
		case <-r.gone:
			return answer{}, errGone
		}
	}}
	go func() { r.ended <- p.do(d, c.build) }()
	return r
}

// leave ends a goroutine where it is: none of its calls succeeds any more, so that its work is
// lost, and it ends.
func (r *running) leave() {
	if r != nil {
		close(r.gone)
	}
}
