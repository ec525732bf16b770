package ipmitest

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ipmi/wire"
)

// Alone is Forged without the genuine answer, at one stage of a conversation: all earlier
// stages are honest.
type Alone wire.Type

// Play misbehaves from now on: devicetest.Forged, Downgrade, Nameless or Short. Any other
// fault is for the BMC itself.
func (r *Relay) Play(fault string) { r.set(plays[fault]) }

// PlayAlone sends forgeries in place of the answers of this type.
func (r *Relay) PlayAlone(stage Alone) {
	r.set(func(c *conversation, answer []byte) [][]byte {
		if c.kind != wire.Type(stage) {
			return honest(c, answer)
		}
		return sorted(c.forgeries(answer))
	})
}

func (r *Relay) set(play func(*conversation, []byte) [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.play = play; play == nil {
		r.play = honest
	}
}

var plays = map[string]func(*conversation, []byte) [][]byte{
	devicetest.Forged: func(c *conversation, answer []byte) [][]byte {
		return append(sorted(c.forgeries(answer)), c.again(answer))
	},
	devicetest.Downgrade: downgrade,
	devicetest.Nameless:  nameless,
	devicetest.Short:     short,
}

func honest(_ *conversation, answer []byte) [][]byte { return [][]byte{answer} }

// again is the genuine answer, numbered after everything that was sent in its place.
func (c *conversation) again(answer []byte) []byte {
	if c.answer == nil {
		return answer
	}
	return c.seal(c.answer.Response())
}

func sorted(all map[string][]byte) [][]byte {
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

// downgrade answers Open Session with weaker algorithms than were requested, one by one and
// all.
func downgrade(c *conversation, answer []byte) [][]byte {
	if c.kind != wire.OpenResponse {
		return honest(c, answer)
	}
	var out [][]byte
	const first = 16 + 12 + 4 // the number of the first algorithm
	for _, which := range [][]int{{0}, {1}, {2}, {0, 1, 2}} {
		b := slices.Clone(answer)
		for _, i := range which {
			b[first+8*i] = 0
		}
		out = append(out, b)
	}
	return out
}

// nameless answers the request for the GUID with an error that does not say that the BMC
// has none.
func nameless(c *conversation, answer []byte) [][]byte {
	if c.answer == nil || c.answer.Command != guid {
		return honest(c, answer)
	}
	m := *c.answer
	m.Data = []byte{0xff}
	return [][]byte{c.seal(m.Response())}
}

// short sends each answer in every length up to the whole, sealed in every length, and some
// garbage; and then the whole answer.
func short(c *conversation, answer []byte) [][]byte {
	var out [][]byte
	for n := range answer {
		out = append(out, answer[:n])
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 80; n += 7 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		out = append(out, b, append([]byte("\x06\x00\xff\x07\x06\xc0"), b...))
	}
	if p, _, err := wire.Parse(answer); err == nil && c.answer == nil {
		for n := range p.Payload {
			out = append(out, wire.Packet{Type: p.Type, Payload: p.Payload[:n]}.Append(nil))
		}
	}
	if c.answer != nil {
		whole := c.answer.Response()
		for n := range whole {
			out = append(out, c.seal(whole[:n]))
		}
		p, _, _ := wire.Parse(c.seal(whole)) // it is one of our types
		for n := range p.Payload {
			out = append(out, c.keys.Sign(c.packet(p.Payload[:n])))
		}
	}
	return append(out, c.again(answer))
}
