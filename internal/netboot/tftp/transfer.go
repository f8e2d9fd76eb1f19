package tftp

import (
	"encoding/binary"
	"errors"
	"io"
)

// transfer is how far a file has been sent. It is pure: it says what to send next.
//
// Blocks are counted from 1 and never begin again; on the wire their number does, after 65535 with 0, as clients expect.
type transfer struct {
	file          io.ReaderAt
	block, window int
	size          int64
	oack          []byte // nil: there is none, or it was acknowledged
	acked, sent   uint64
	last          uint64 // the number of the last block, which is shorter than the others, and may be empty
	// lost is how often the client has said that the block after acked did not come.
	lost int
}

func newTransfer(file io.ReaderAt, size int64, r request) *transfer {
	return &transfer{file: file, block: r.block, window: r.window, size: size, oack: r.oack(size), last: uint64(size/int64(r.block)) + 1}
}

// next is what to send now: what follows the last block that was acknowledged, as much of it as the window takes.
func (t *transfer) next() ([][]byte, error) {
	if t.oack != nil {
		return [][]byte{t.oack}, nil
	}
	var packets [][]byte
	for n := t.acked + 1; n <= t.last && n <= t.acked+uint64(t.window); n++ {
		p := make([]byte, 4+t.block)
		binary.BigEndian.PutUint16(p, opData)
		binary.BigEndian.PutUint16(p[2:], uint16(n))
		read, err := t.file.ReadAt(p[4:], int64(n-1)*int64(t.block))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if n < t.last && read < t.block || n == t.last && int64(read) != t.size%int64(t.block) {
			return nil, io.ErrUnexpectedEOF // the file was changed
		}
		packets = append(packets, p[:4+read])
		t.sent = n
	}
	return packets, nil
}

// maxLost is how often a client may say that a block was lost: each time it is sent a window for four octets.
const maxLost = 4

// answer is what an acknowledgement means.
type answer uint8

const (
	// ignored: it is an old one. To send again because of it would double every block from then on (RFC 1123 §4.2.3.1).
	ignored answer = iota
	// progress: there is more to send.
	progress
	// again: what was sent did not come.
	again
	// done: that was the last block.
	done
)

// ack takes the acknowledgement of a block by its number on the wire.
func (t *transfer) ack(wire uint16) answer {
	if t.oack != nil {
		if wire != 0 {
			return ignored
		}
		t.oack = nil
		return progress
	}
	for n := t.acked + 1; n <= t.sent; n++ {
		if uint16(n) != wire {
			continue
		}
		t.lost = 0
		if t.acked = n; n == t.last {
			return done
		}
		return progress
	}
	if t.window > 1 && wire == uint16(t.acked) && t.lost < maxLost {
		// The first block of the window was lost, and the client says so (RFC 7440 §4).
		t.lost++
		return again
	}
	return ignored
}

// begun reports whether the client has answered anything.
func (t *transfer) begun() bool { return t.acked > 0 }
