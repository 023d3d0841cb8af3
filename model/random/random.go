// Package random gives named, reproducible random streams. A stream is ChaCha8 keyed by
// SHA-256(seed, replication, name): streams never overlap, two designs compared with the same seed see the same traffic
// (common random numbers), and the output is the same on every platform.
package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream is a source of uniform numbers for one purpose ("arrivals", "lengths", "routing", "failures", ...).
type Stream struct{ src *rand.ChaCha8 }

// New returns the stream of that name for a seed and a replication number.
func New(seed uint64, replication int, name string) *Stream {
	h := sha256.New()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(replication))
	h.Write(b[:])
	h.Write([]byte(name))
	var key [32]byte
	h.Sum(key[:0])
	return &Stream{rand.NewChaCha8(key)}
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 { return s.src.Uint64() }

// Float64 returns a uniform number in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.src.Uint64()>>11) / (1 << 53) }

// Open returns a uniform number in (0, 1), safe for logarithms and inverse distribution functions.
func (s *Stream) Open() float64 { return (float64(s.src.Uint64()>>12) + 0.5) / (1 << 52) }

// IntN returns a uniform integer in [0, n); n must be positive.
func (s *Stream) IntN(n int) int {
	return int(s.Float64() * float64(n))
}
