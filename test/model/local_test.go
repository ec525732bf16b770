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

// local is where one invocation stands. What code does depends on its event, the
// time it begins at and the answers that it gets, and on nothing else: so the
// code is run on each row of answers once, from its beginning, and stopped at the
// call that comes after the last of them. A process that dies there is one whose
// next call is never answered.
type local struct {
	id     int
	parent *local
	answer answer
	// asks is the call that it makes next; nil when it has ended.
	asks *request
	end  end
	next map[digest]*local
}

// codebase runs the code, and keeps what came of it.
type codebase struct {
	build code
	roots map[string]*local
	runs  int
}

func newCodebase(build code) *codebase { return &codebase{build: build, roots: map[string]*local{}} }

// begin is an invocation at its first call.
func (c *codebase) begin(d delivery, me string, at time.Duration) *local {
	k := fmt.Sprint(d, me, at)
	if c.roots[k] == nil {
		c.roots[k] = c.run(d, me, &local{answer: answer{got: at}})
	}
	return c.roots[k]
}

// after is that invocation once it has this answer.
func (c *codebase) after(p *proc, a answer) *local {
	var b [36]byte
	k := digestOf(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(
		binary.LittleEndian.AppendUint32(a.sum.append(b[:0]), uint32(a.code)), uint64(a.date)), uint64(a.got)))
	n := p.at.next[k]
	if n == nil {
		n = c.run(p.delivery, p.me, &local{parent: p.at, answer: a})
		if p.at.next == nil {
			p.at.next = map[digest]*local{}
		}
		p.at.next[k] = n
	}
	return n
}

// run runs the code from its beginning on the answers that lead to l.
func (c *codebase) run(d delivery, me string, l *local) *local {
	c.runs++
	l.id = c.runs
	var log []answer
	root := l
	for ; root.parent != nil; root = root.parent {
		log = append(log, root.answer)
	}
	slices.Reverse(log)
	now, i := root.answer.got, 0
	p := process{me: me, now: func() time.Duration { return now }, call: func(r request) (answer, error) {
		if i < len(log) {
			now = log[i].got
			i++
			return log[i-1], nil
		}
		if l.asks == nil {
			q := r.signed()
			l.asks = &q
		}
		return answer{}, errGone
	}}
	l.end = p.do(d, c.build)
	return l
}
