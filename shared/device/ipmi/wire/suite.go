package wire

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // cipher suite 3 is made of it, and most BMCs have no other
	"crypto/sha256"
	"fmt"
	"hash"
)

// Algorithms are the numbers of authentication, integrity and confidentiality by which both
// ends agree on a cipher suite.
type Algorithms struct{ Authentication, Integrity, Confidentiality byte }

// String is for errors.
func (a Algorithms) String() string {
	return fmt.Sprintf("authentication %d, integrity %d, confidentiality %d", a.Authentication, a.Integrity, a.Confidentiality)
}

// Suite is a cipher suite that authenticates and encrypts everything in a session.
type Suite struct {
	Number int
	Algorithms
	hash func() hash.Hash
	// code is how many bytes of a digest are sent in a session and in RAKP 4.
	code int
}

// aes is AES-CBC-128, the only secure confidentiality algorithm.
const aes = 1

// The suites. Every other suite lacks authentication, integrity or encryption, or uses MD5
// or RC4.
var (
	Suite3  = Suite{3, Algorithms{1, 1, aes}, sha1.New, 12}
	Suite17 = Suite{17, Algorithms{3, 4, aes}, sha256.New, 16}
)

func (s Suite) mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(s.hash, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
