package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Protocol is the subprotocol of the WebSocket (RFC 6455 §1.9). Binary messages are bytes of the console, text messages are Controls.
const Protocol = "console.farrier.dev"

const (
	// maxFrame bounds a message of a viewer.
	maxFrame = 16 << 10
	// maxCells bounds the columns and rows of a terminal.
	maxCells = 1000
)

// What a Control is about.
const (
	TypeState  = "state"  // to viewers: where the session stands
	TypeWriter = "writer" // to viewers: who writes
	TypeReader = "reader" // to viewers: what was typed goes nowhere, because somebody else writes
	TypeError  = "error"  // to viewers: the last message; why it ends
	TypeResize = "resize" // from the writer: the size of the terminal
	TypeTake   = "take"   // from viewers: have me write in place of whoever does
)

// Where a session stands.
const (
	StateConnecting   = "connecting"
	StateConnected    = "connected"
	StateReconnecting = "reconnecting"
)

// Control is a message that is not of the console.
type Control struct {
	Type string `json:"type"`
	// State, and why.
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
	// Reason of an error is for programs.
	Reason string `json:"reason,omitempty"`
	// Writer is who writes; You says that it is the one who is told.
	Writer string `json:"writer,omitempty"`
	You    bool   `json:"you,omitempty"`

	Columns int `json:"columns,omitempty"`
	Rows    int `json:"rows,omitempty"`
}

// Message is one for a viewer: bytes of the console, or a Control.
type Message struct {
	Data    []byte
	Control *Control
}

// ParseControl reads a text message.
func ParseControl(text []byte) (Control, error) {
	var c Control
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Control{}, fmt.Errorf("control message: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Control{}, fmt.Errorf("control message: text behind its end")
	}
	return c, nil
}

// fromViewer checks a Control that a viewer sent.
func (c Control) fromViewer() error {
	switch c.Type {
	case TypeTake:
		return nil
	case TypeResize:
		if c.Columns < 1 || c.Rows < 1 || c.Columns > maxCells || c.Rows > maxCells {
			return fmt.Errorf("control message: size %d×%d is not from 1×1 to %d×%d", c.Columns, c.Rows, maxCells, maxCells)
		}
		return nil
	}
	return fmt.Errorf("control message: type %.32q is not %s or %s", c.Type, TypeResize, TypeTake)
}
