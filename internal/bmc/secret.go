package bmc

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a text that must not be seen: a password, a session token. However
// it is formatted, marshalled or logged, it shows as "[redacted]".
//
// The fmt package cannot call methods of values that it finds in unexported
// fields; a struct that keeps one there keeps a pointer to it.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }

// Credentials are one account of a BMC.
type Credentials struct {
	Username string
	Password Secret
}
