package diskspace

import (
	"errors"
	"math"
)

// ErrUnsupported is wrapped by the errors of a system, or of a file system, that cannot do it.
var ErrUnsupported = errors.New("not supported here")

// Unlimited is what a file system without a limit has.
const Unlimited = math.MaxUint64

// Space is what is left of a file system for whoever asks.
type Space struct {
	Bytes uint64
	// Files is how many more files there can be.
	Files uint64
}
