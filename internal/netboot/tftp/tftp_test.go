package tftp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func TestReadRequest(t *testing.T) {
	for text, want := range map[string]request{
		"undionly.kpxe\x00octet\x00":                                         {file: "undionly.kpxe", block: 512, window: 1},
		"/undionly.kpxe\x00OCTET\x00":                                        {file: "undionly.kpxe", block: 512, window: 1},
		"a\x00octet\x00tsize\x000\x00blksize\x001468\x00windowsize\x004\x00": {file: "a", block: maxBlock, window: 4, size: true, options: []string{"tsize", "blksize", "windowsize"}},
		"a\x00octet\x00BLKSIZE\x00100\x00timeout\x006\x00":                   {file: "a", block: 100, window: 1, timeout: 6, options: []string{"blksize", "timeout"}},
		"a\x00octet\x00blksize\x007\x00windowsize\x000\x00timeout\x00256\x00multicast\x00\x00blksize\x00x\x00": {file: "a", block: 512, window: 1},
		"a\x00octet\x00windowsize\x0065535\x00": {file: "a", block: 512, window: maxWindow, options: []string{"windowsize"}},
	} {
		got, err := readRequest([]byte(text))
		if err != nil || got.file != want.file || got.block != want.block || got.window != want.window || got.timeout != want.timeout || got.size != want.size || strings.Join(got.options, ",") != strings.Join(want.options, ",") {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "\x00", "a", "a\x00", "a\x00octet", "\x00octet\x00", "a\x00netascii\x00", "a\x00mail\x00", "a\x00octet\x00tsize\x00", "a\x00octet" + strings.Repeat("\x00tsize\x000", 40) + "\x00"} {
		if _, err := readRequest([]byte(bad)); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOAck(t *testing.T) {
	r, err := readRequest([]byte("a\x00octet\x00tsize\x000\x00blksize\x001468\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.oack(99)), "\x00\x06tsize\x0099\x00blksize\x001448\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// read goes through a transfer as a client would, losing the packets that lose names.
func read(t *testing.T, content []byte, r request, lose func(block uint64) bool) []byte {
	t.Helper()
	tr := newTransfer(bytes.NewReader(content), int64(len(content)), r)
	var got []byte
	want := uint64(1)
	for rounds := 0; ; rounds++ {
		if rounds > 1<<20 {
			t.Fatal("it does not end")
		}
		packets, err := tr.next()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packets {
			if p[1] == opOAck {
				continue
			}
			if binary.BigEndian.Uint16(p[2:]) == uint16(want) && !lose(want) {
				got = append(got, p[4:]...)
				want++
			}
		}
		if tr.ack(uint16(want-1)) == done {
			return got
		}
	}
}

func TestTransfers(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 1024, 100_000} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7)
		}
		for _, window := range []int{1, 4, 64} {
			lost := map[uint64]bool{}
			got := read(t, content, request{block: 512, window: window}, func(n uint64) bool {
				first := !lost[n]
				lost[n] = true
				return first && n%5 == 0 // each fifth is lost once
			})
			if !bytes.Equal(got, content) {
				t.Errorf("%d octets in windows of %d: %d came", size, window, len(got))
			}
		}
	}
}

// More than 65535 blocks: numbers begin again with 0.
func TestBlockNumbersBeginAgain(t *testing.T) {
	content := make([]byte, 70_000*8+3)
	for i := range content {
		content[i] = byte(i >> 3)
	}
	if got := read(t, content, request{block: 8, window: 3}, func(uint64) bool { return false }); !bytes.Equal(got, content) {
		t.Errorf("%d octets came, of %d", len(got), len(content))
	}
}

// An old acknowledgement has nothing sent again (RFC 1123 §4.2.3.1), and a lost window only a few times.
func TestOldAcknowledgements(t *testing.T) {
	tr := newTransfer(bytes.NewReader(make([]byte, 2000)), 2000, request{block: 512, window: 1})
	for _, step := range []struct {
		ack  uint16
		want answer
	}{{7, ignored}, {0, ignored}, {1, progress}, {1, ignored}, {0, ignored}, {3, ignored}, {2, progress}, {3, progress}, {2, ignored}, {4, done}} {
		if _, err := tr.next(); err != nil {
			t.Fatal(err)
		}
		if got := tr.ack(step.ack); got != step.want {
			t.Errorf("ack %d: %d, want %d", step.ack, got, step.want)
		}
	}
	tr = newTransfer(bytes.NewReader(make([]byte, 20_000)), 20_000, request{block: 512, window: 8})
	repeats := 0
	for range 100 {
		if _, err := tr.next(); err != nil {
			t.Fatal(err)
		}
		if tr.ack(0) == again {
			repeats++
		}
	}
	if repeats != maxLost {
		t.Errorf("%d windows were sent again", repeats)
	}
}

func TestAFileThatShrinks(t *testing.T) {
	tr := newTransfer(bytes.NewReader(make([]byte, 100)), 1000, request{block: 512, window: 1})
	if _, err := tr.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte("undionly.kpxe\x00octet\x00tsize\x000\x00blksize\x001468\x00windowsize\x004\x00timeout\x006\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readRequest(b)
		if err != nil {
			return
		}
		if r.block < minBlock || r.block > maxBlock || r.window < 1 || r.window > maxWindow || len(r.oack(1<<40)) > 1000 {
			t.Errorf("%+v", r)
		}
	})
}

// folder is a directory of files by name alone.
type folder string

func (d folder) File(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(filepath.Join(string(d), filepath.Base(path)))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	return f, info, err
}

type fetched struct {
	file  string
	bytes int64
	ok    bool
}

func serve(t *testing.T, singlePort bool) (*net.UDPConn, *net.UDPAddr, chan fetched, []byte) {
	t.Helper()
	dir := t.TempDir()
	content := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	if err := os.WriteFile(filepath.Join(dir, "snponly.efi"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	all := make(chan fetched, 16)
	s := New(Config{Files: folder(dir), SinglePort: singlePort, Logger: logr.Discard(), Fetched: func(file string, _ netip.Addr, n int64, ok bool) { all <- fetched{file, n, ok} }})
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	addr, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		t.Fatal(conn.LocalAddr())
	}
	client, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return client, addr, all, content
}

// download reads a file as OVMF does: first its size, with an error at once, then the file.
func TestOVMFReadsTwice(t *testing.T) {
	for _, singlePort := range []bool{false, true} {
		client, addr, all, content := serve(t, singlePort)
		ask := func(text string) ([]byte, *net.UDPAddr) {
			if _, err := client.WriteToUDP([]byte("\x00\x01"+text), addr); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, maxPacket)
			n, from, err := client.ReadFromUDP(b)
			if err != nil {
				t.Fatal(err)
			}
			return b[:n], from
		}
		b, from := ask("snponly.efi\x00octet\x00tsize\x000\x00blksize\x001468\x00")
		if want := "\x00\x06tsize\x00160000\x00blksize\x001448\x00"; string(b) != want {
			t.Fatalf("got %q", b)
		}
		if singlePort != (from.Port == addr.Port) {
			t.Errorf("single port %v: the answer came from %s, asked was %s", singlePort, from, addr)
		}
		if _, err := client.WriteToUDP(errorPacket(8, "User aborted the transfer"), from); err != nil {
			t.Fatal(err)
		}
		second, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = second.Close() }()
		client = second
		if err := client.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b, from = ask("snponly.efi\x00octet\x00blksize\x001448\x00windowsize\x004\x00")
		if b[1] != opOAck {
			t.Fatalf("got %q", b)
		}
		var got []byte
		ack := func(n uint16) {
			if _, err := client.WriteToUDP(binary.BigEndian.AppendUint16([]byte{0, opAck}, n), from); err != nil {
				t.Fatal(err)
			}
		}
		ack(0)
		buf := make([]byte, maxPacket)
		for want := uint16(1); ; want++ {
			n, err := client.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if buf[1] != opData || binary.BigEndian.Uint16(buf[2:]) != want {
				t.Fatalf("got %x, want block %d", buf[:4], want)
			}
			got = append(got, buf[4:n]...)
			last := n < 4+1448
			if want%4 == 0 || last {
				ack(want)
			}
			if last {
				break
			}
		}
		if !bytes.Equal(got, content) {
			t.Errorf("%d octets came", len(got))
		}
		if f := <-all; f != (fetched{"snponly.efi", int64(len(content)), true}) {
			t.Errorf("recorded %+v: the request for the size is no delivery", f)
		}
	}
}

func TestRefusals(t *testing.T) {
	client, addr, all, _ := serve(t, false)
	for packet, code := range map[string]byte{"\x00\x01nothing\x00octet\x00": codeNotFound, "\x00\x01snponly.efi\x00netascii\x00": codeIllegal, "\x00\x02snponly.efi\x00octet\x00": codeAccess, "\x00\x01snponly.efi": codeIllegal} {
		if _, err := client.WriteToUDP([]byte(packet), addr); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, maxPacket)
		n, _, err := client.ReadFromUDP(b)
		if err != nil || n < 5 || b[1] != opError || b[3] != code {
			t.Errorf("%q: %q, %v", packet, b[:n], err)
		}
	}
	if f := <-all; f != (fetched{"nothing", 0, false}) {
		t.Errorf("recorded %+v", f)
	}
}
