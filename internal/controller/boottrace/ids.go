package boottrace

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/farrier-dev/farrier/internal/otlp"
)

// TraceID is the ID of the trace of a boot attempt, as people and programs write it.
func TraceID(attempt string) string {
	id := traceID(attempt)
	return hex.EncodeToString(id[:])
}

func traceID(attempt string) (id otlp.TraceID) {
	copy(id[:], digest("trace", attempt))
	return id
}

// spanID is the ID of the span of a step; that of the whole boot is called like the root span.
func spanID(attempt, name string) (id otlp.SpanID) {
	copy(id[:], digest("span "+name, attempt))
	return id
}

func digest(what, attempt string) []byte {
	sum := sha256.Sum256([]byte("farrier boot " + what + "\x00" + attempt))
	return sum[:]
}
