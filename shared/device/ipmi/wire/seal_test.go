package wire

import (
	"errors"
	"testing"
)

// TestTrailers: a BMC that has the keys, and is broken, does not end the process either.
func TestTrailers(t *testing.T) {
	for _, s := range []Suite{Suite3, Suite17} {
		l := Login{Suite: s, User: "fence", Password: "hunter-2-hunter"}
		k := l.Keys()
		whole := k.Seal(Packet{Type: Sealed, Session: 7, Sequence: 1, Payload: Message{Data: []byte{0}}.Response()}, [16]byte{1})
		if _, err := k.Unseal(whole, 7); err != nil {
			t.Errorf("suite %d: %v", s.Number, err)
		}
		p, _, err := Parse(whole)
		if err != nil {
			t.Fatal(err)
		}
		for name, trailer := range map[string][]byte{"none": {}, "half of one": {next}, "a pad that is longer": {0xff, 9, next}, "another next header": {0, 6}} {
			b := append(p.Append(nil), trailer...)
			b = append(b, k.suite.mac(k.k1, b[rmcp:])[:k.suite.code]...)
			if _, err := k.Unseal(b, 7); !errors.Is(err, ErrMalformed) {
				t.Errorf("suite %d, trailer %s: %v", s.Number, name, err)
			}
		}
	}
}
