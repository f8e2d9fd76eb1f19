package tftp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// peer is a client that gets what a server sends, and answers it or not.
type peer struct {
	sent   int
	answer func(t *session, packet []byte)
}

// transferTo runs a transfer to a client until it ends, and returns how many packets were sent and how long that took.
func transferTo(t *testing.T, request string, answer func(*session, []byte)) (packets int, took time.Duration) {
	t.Helper()
	r, err := readRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte{'x'}, 100*defaultBlock)
	s := New(Config{Logger: logr.Discard()})
	p := &peer{answer: answer}
	transfer := &session{
		transfer: newTransfer(bytes.NewReader(content), int64(len(content)), r), client: netip.MustParseAddrPort("192.0.2.9:2000"), name: r.file, wait: firstWait,
		packets: make(chan []byte, 2*maxWindow),
	}
	transfer.send = func(b []byte) error {
		p.sent++
		p.answer(transfer, b)
		return nil
	}
	begin := time.Now()
	s.run(t.Context(), transfer)
	return p.sent, time.Since(begin)
}

func acknowledge(t *session, n uint16) {
	select {
	case t.packets <- binary.BigEndian.AppendUint16([]byte{0, opAck}, n):
	default:
	}
}

func blockOf(b []byte) uint16 { return binary.BigEndian.Uint16(b[2:]) }

// TestATransferEnds however its client behaves: what nobody acknowledges is not sent for ever, nor what is acknowledged wrongly.
func TestATransferEnds(t *testing.T) {
	const plain = "a\x00octet\x00"
	for name, c := range map[string]struct {
		request string
		answer  func(*session, []byte)
		most    int // packets
	}{
		"nobody is there":          {plain, func(*session, []byte) {}, triesUnheard},
		"nobody takes the options": {plain + "blksize\x001448\x00", func(*session, []byte) {}, triesUnheard},
		"silent after the options": {plain + "windowsize\x004\x00", func(s *session, b []byte) {
			if b[1] == opOAck {
				acknowledge(s, 0)
			}
		}, 1 + 4*tries},
		"silent after a block": {plain, func(s *session, b []byte) {
			if blockOf(b) == 1 {
				acknowledge(s, 1)
			}
		}, 1 + tries},
		"acknowledges the same block again and again": {plain, func(s *session, _ []byte) {
			for range 50 {
				acknowledge(s, 1)
			}
		}, 1 + tries},
		"acknowledges what was not sent": {plain, func(s *session, b []byte) { acknowledge(s, blockOf(b)+1000) }, triesUnheard},
		"says that all of a window is lost": {plain + "windowsize\x004\x00", func(s *session, b []byte) {
			if b[1] == opOAck || blockOf(b) == 1 {
				acknowledge(s, 0)
			}
		}, 1 + 4*(maxLost+tries)},
		"sends garbage": {plain, func(s *session, _ []byte) {
			for _, garbage := range []string{"", "\x00", "\x00\x04", "\x00\x09\x00\x01", "\xff\xff\xff\xff"} {
				s.packets <- []byte(garbage)
			}
		}, triesUnheard},
		"reports an error": {plain, func(s *session, _ []byte) { s.packets <- errorPacket(codeUndefined, "") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				packets, took := transferTo(t, c.request, c.answer)
				if packets > c.most || packets == 0 || took > tries*longestWait {
					t.Errorf("%d packets within %s, want %d at most", packets, took, c.most)
				}
			})
		})
	}
}

// TestASlowTransferEnds: a client that acknowledges each block just before its time is over holds a place for ten minutes and no longer.
func TestASlowTransferEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		packets, took := transferTo(t, "a\x00octet\x00blksize\x008\x00", func(s *session, b []byte) {
			n := uint16(0)
			if b[1] == opData {
				n = blockOf(b)
			}
			time.AfterFunc(firstWait-time.Millisecond, func() { acknowledge(s, n) })
		})
		if took != longest || packets < int(longest/firstWait) {
			t.Errorf("%d packets within %s", packets, took)
		}
	})
}
