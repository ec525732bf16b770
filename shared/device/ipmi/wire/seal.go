package wire

import (
	"bytes"
	cryptoaes "crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"fmt"
)

// Keys are those of one session.
type Keys struct {
	suite  Suite
	k1, k2 []byte
}

// next is the trailer's byte after its padding.
const next = 0x07

// Seal encrypts a copy of the payload with this IV of 16 bytes, and writes the packet with
// its trailer.
func (k Keys) Seal(p Packet, iv [cryptoaes.BlockSize]byte) []byte {
	p.Payload = k.encrypt(p.Payload, iv)
	return k.Sign(p)
}

// Sign writes the packet with its trailer, and does not encrypt the payload.
func (k Keys) Sign(p Packet) []byte {
	b := p.Append(nil)
	pad := (4 - (len(b)-rmcp+2)%4) % 4
	b = append(b, bytes.Repeat([]byte{0xff}, pad)...)
	b = append(b, byte(pad), next)
	return append(b, k.suite.mac(k.k1, b[rmcp:])[:k.suite.code]...)
}

// Unseal opens a datagram of this session. It authenticates the whole datagram before it
// reads any of the payload.
func (k Keys) Unseal(b []byte, session uint32) (Packet, error) {
	p, trailer, err := Parse(b)
	switch {
	case err != nil:
		return Packet{}, err
	case p.Type != Sealed:
		return Packet{}, fmt.Errorf("%w: payload type %#02x, want an IPMI message that is encrypted and authenticated", ErrNotAuthentic, byte(p.Type))
	case p.Session != session:
		return Packet{}, fmt.Errorf("%w: of session %#08x", ErrNotAuthentic, p.Session)
	case len(trailer) < 2+k.suite.code:
		return Packet{}, fmt.Errorf("%w: a trailer of %d bytes", ErrMalformed, len(trailer))
	}
	signed, code := b[rmcp:len(b)-k.suite.code], b[len(b)-k.suite.code:]
	if !hmac.Equal(k.suite.mac(k.k1, signed)[:k.suite.code], code) {
		return Packet{}, fmt.Errorf("%w: wrong AuthCode", ErrNotAuthentic)
	}
	pad := trailer[:len(trailer)-k.suite.code]
	if n := len(pad) - 2; int(pad[n]) != n || pad[n+1] != next {
		return Packet{}, fmt.Errorf("%w: a broken trailer", ErrMalformed)
	}
	p.Payload, err = k.decrypt(p.Payload)
	return p, err
}

func (k Keys) block() cipher.Block {
	b, err := cryptoaes.NewCipher(k.k2[:16])
	if err != nil {
		panic(err) // 16 bytes are a key
	}
	return b
}

func (k Keys) encrypt(data []byte, iv [cryptoaes.BlockSize]byte) []byte {
	pad := cryptoaes.BlockSize - 1 - len(data)%cryptoaes.BlockSize
	out := append(iv[:], data...)
	for i := range pad {
		out = append(out, byte(i+1))
	}
	out = append(out, byte(pad))
	cipher.NewCBCEncrypter(k.block(), iv[:]).CryptBlocks(out[len(iv):], out[len(iv):])
	return out
}

func (k Keys) decrypt(data []byte) ([]byte, error) {
	if len(data) < 2*cryptoaes.BlockSize || len(data)%cryptoaes.BlockSize != 0 {
		return nil, fmt.Errorf("%w: %d encrypted bytes", ErrMalformed, len(data))
	}
	iv, text := data[:cryptoaes.BlockSize], bytes.Clone(data[cryptoaes.BlockSize:])
	cipher.NewCBCDecrypter(k.block(), iv).CryptBlocks(text, text)
	end := len(text) - 1
	pad := int(text[end])
	if pad > end {
		return nil, fmt.Errorf("%w: a pad of %d bytes in %d", ErrMalformed, pad, end)
	}
	return text[:end-pad], nil
}
