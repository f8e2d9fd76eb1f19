package lease

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/internal/host/atomicfile"
)

const (
	// maxFile bounds the file: a pool of the largest size takes a tenth of it.
	maxFile = 64 << 20
	maxLine = 1 << 10
	// maxLines are those that a file of that size has room for.
	maxLines = maxFile / 256
	// rewriteAfter is how many lines the file has before it is written anew, and rewriteFactor how many times as many as there are leases.
	rewriteAfter  = 1024
	rewriteFactor = 4
	// syncEvery is how long a lease may be in the kernel's memory alone. The end of the process loses nothing; that of the machine loses these, and the
	// probe for conflicts and the clients that ask for their addresses again make up for them.
	syncEvery = time.Second
)

// record is a line of the file. Later lines of an address win.
type record struct {
	Addr   netip.Addr `json:"address"`
	Client string     `json:"client,omitempty"`
	Known  bool       `json:"known,omitempty"`
	Bound  bool       `json:"bound,omitempty"`
	Booted bool       `json:"booted,omitempty"`
	// Stranger says of a conflict that it is one of strangers.
	Stranger bool  `json:"stranger,omitempty"`
	Expires  int64 `json:"expires"`
	// Written is when the line was: a clock that was set back since does not make a lease any longer. Zero: it does not say.
	Written int64 `json:"written,omitempty"`
}

// journal is the open file.
type journal struct {
	path  string
	file  *os.File
	lock  *os.File
	lines int
	// due is how many lines the file has when it is written anew.
	due    int
	synced time.Time
	// torn says that the file may end in half a line.
	torn bool
	// syncing runs one at a time, so that nobody waits for the disk; unsynced is why the last one failed.
	syncing  bool
	syncs    sync.WaitGroup
	unsynced error
}

// open reads the file and opens it for more. Half a line at its end is what a crash leaves behind.
func (p *Pool) open() (err error) {
	j := &journal{path: p.cfg.File}
	if j.lock, err = os.OpenFile(j.path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	if err = syscall.Flock(int(j.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = j.lock.Close()
		return fmt.Errorf("leases: another process has %s: %w", j.path, err)
	}
	err = p.load(j.path)
	if err == nil {
		p.journal = j
		if err = p.rewrite(); err != nil && p.extend() == nil {
			err = nil
		}
	}
	if err != nil {
		_ = j.lock.Close()
		p.journal = nil
		return fmt.Errorf("leases: %w", err)
	}
	return nil
}

func (p *Pool) load(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReaderSize(io.LimitReader(f, maxFile), maxLine)
	for tooLong := false; ; {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r record
		// What is torn, from somebody's editor, or filled with zeros by a file system is left out: the other lines still count.
		if !more && !tooLong && json.Unmarshal(line, &r) == nil && r.Addr.IsValid() {
			p.restore(r)
		}
		tooLong = more
	}
}

// restore takes what is still of one of the subnets.
func (p *Pool) restore(r record) {
	if old := p.byAddr[r.Addr]; old != nil {
		p.forget(old)
	}
	subnet, has := p.Subnet(r.Addr)
	if !has || p.rangeFor(r.Addr) == nil && p.reserved[r.Addr] != r.Client {
		return
	}
	if owner, reserved := p.reserved[r.Addr]; reserved && owner != r.Client {
		return
	}
	if had := p.of(r.Client, subnet); had != nil {
		p.forget(had)
	}
	expires := time.Unix(r.Expires, 0)
	if now, written := p.clock.Now(), time.Unix(r.Written, 0); r.Written > 0 && now.Before(written) {
		expires = now.Add(expires.Sub(written))
	}
	p.keep(&Lease{Addr: r.Addr, Client: r.Client, Known: r.Known, Bound: r.Bound, Booted: r.Booted, Stranger: r.Stranger && r.Client == "", Expires: expires})
}

func lineOf(l Lease, now time.Time) []byte {
	line, err := json.Marshal(record{l.Addr, l.Client, l.Known, l.Bound, l.Booted, l.Stranger, l.Expires.Unix(), now.Unix()})
	if err != nil { // an address, two strings and a number can always be marshalled
		return nil
	}
	return append(line, '\n')
}

// write adds a line before its lease is told to anybody (RFC 2131 §4.3.1).
func (p *Pool) write(l Lease) error {
	j := p.journal
	if j == nil {
		return nil
	}
	if j.lines >= j.due && j.lines >= rewriteFactor*len(p.byAddr) {
		err := p.rewrite()
		if err == nil { // l is among the leases already
			return nil
		}
		if j.due += rewriteAfter; j.due > maxLines {
			return err
		}
		// There may be room for one more line, and for the whole later.
	}
	now := p.clock.Now()
	line := lineOf(l, now)
	if j.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := j.file.Write(line)
	if j.torn = err != nil && (j.torn || n > 0); err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	j.lines++
	if now.Sub(j.synced) >= syncEvery && !j.syncing {
		j.synced, j.syncing = now, true
		f := j.file
		j.syncs.Go(func() { p.sync(j, f) })
	}
	if err, j.unsynced = j.unsynced, nil; err != nil {
		return fmt.Errorf("leases: %w", err)
	}
	return nil
}

// sync makes durable what was written. Answers go on meanwhile; the next one that writes says what is wrong.
func (p *Pool) sync(j *journal, f *os.File) {
	err := f.Sync()
	p.mu.Lock()
	defer p.mu.Unlock()
	j.syncing = false
	if !errors.Is(err, os.ErrClosed) { // closed: the whole was written anew, and durably
		j.unsynced = err
	}
}

// rewrite replaces the file by one with a line for each lease.
func (p *Pool) rewrite() error {
	var all bytes.Buffer
	n, now := 0, p.clock.Now()
	for _, l := range p.byAddr {
		if l.Bound || l.Client == "" || !l.Expires.After(now) {
			all.Write(lineOf(*l, now))
			n++
		}
	}
	j := p.journal
	if err := atomicfile.Write(j.path, all.Bytes(), 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.lines, j.due, j.torn = f, n, rewriteAfter, false
	return nil
}

// extend opens the file as it is, where there is no room for another one: those whose leases are in it are answered all the same.
func (p *Pool) extend() (err error) {
	j := p.journal
	if j.file, err = os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
		j.due, j.torn = rewriteAfter, true // how it ends is unknown
	}
	return err
}

// Close lets another process have the file.
func (p *Pool) Close() error {
	p.mu.Lock()
	j := p.journal
	p.journal = nil
	p.mu.Unlock()
	if j == nil {
		return nil
	}
	j.syncs.Wait()
	return errors.Join(j.file.Sync(), j.file.Close(), j.lock.Close())
}
