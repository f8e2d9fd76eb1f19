package logbook

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

const (
	// segmentBytes is how long a file becomes, and maxSegments how many there are: 128 MiB together.
	segmentBytes = 8 << 20
	maxSegments  = 16
	// keepFree is how much room the logbook leaves on its disk.
	keepFree = 128 << 20
	// pause is how long the disk is left alone after it has not taken an entry.
	pause = 10 * time.Second

	prefix, suffix = "entries-", ".jsonl"
)

// segment is the file that entries are appended to. Each process begins a new one, so that what is at the end of an old one never matters.
type segment struct {
	file    *os.File
	buffer  *bufio.Writer
	written int64
	// again is when the disk may be tried again that did not take an entry; failing says that the log has said so.
	again   time.Time
	failing bool
}

// Run appends entries to segments until ctx ends. What the disk does not take is counted.
func (b *Book) Run(ctx context.Context) error {
	if b.queue == nil {
		<-ctx.Done()
		return nil
	}
	var s segment
	defer func() { b.close(&s) }()
	for {
		select {
		case e := <-b.queue:
			b.append(&s, e)
		case <-ctx.Done():
			for len(b.queue) > 0 {
				b.append(&s, <-b.queue)
			}
			return nil
		}
	}
}

// append writes an entry, and what was written before when nothing waits.
func (b *Book) append(s *segment, e Entry) {
	now := b.options.Clock.Now()
	if now.Before(s.again) {
		b.unwritten.Add(1)
		return
	}
	if err := b.put(s, e); err != nil {
		b.unwritten.Add(1)
		if !s.failing {
			b.options.Logger.Info("logbook not written; it goes on in memory", "file", b.options.Directory, "error", err)
		}
		b.close(s)
		*s = segment{again: now.Add(pause), failing: true}
		return
	}
	if s.failing {
		b.options.Logger.Info("logbook is written again", "file", b.options.Directory)
		s.failing = false
	}
}

func (b *Book) put(s *segment, e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if s.file == nil || s.written+int64(len(line)) >= b.options.segment {
		if err := b.begin(s, e.ID); err != nil {
			return err
		}
	}
	n, err := s.buffer.Write(append(line, '\n'))
	s.written += int64(n)
	if err == nil && len(b.queue) == 0 {
		err = s.buffer.Flush()
	}
	return err
}

// begin opens a new segment, and removes the oldest ones.
func (b *Book) begin(s *segment, id int64) error {
	b.close(s)
	s.file = nil
	if err := os.MkdirAll(b.options.Directory, 0o700); err != nil {
		return err
	}
	if space, err := diskspace.Of(b.options.Directory); err == nil && space.Bytes < keepFree {
		return fmt.Errorf("%s: less than %d MiB are left", b.options.Directory, keepFree>>20)
	}
	names := b.names()
	for len(names) >= int(b.options.segments) {
		if err := os.Remove(names[0]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		names = names[1:]
	}
	file, err := os.OpenFile(filepath.Join(b.options.Directory, fmt.Sprintf("%s%020d%s", prefix, id, suffix)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.file, s.buffer, s.written = file, bufio.NewWriter(file), 0
	return nil
}

func (b *Book) close(s *segment) {
	if s.file == nil {
		return
	}
	if err := errors.Join(s.buffer.Flush(), s.file.Close()); err != nil && !s.failing {
		b.options.Logger.Info("logbook not written; it goes on in memory", "file", b.options.Directory, "error", err)
	}
}

// names are the segments, the oldest first.
func (b *Book) names() []string {
	names, err := filepath.Glob(filepath.Join(b.options.Directory, prefix+"*"+suffix))
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}

// stored are the newest entries on disk about the subjects that came before that ID; zero: all. Only one caller reads the disk at a time.
func (b *Book) stored(ctx context.Context, subjects []string, before int64) []Entry {
	if b.options.Directory == "" {
		return nil
	}
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil
	}
	var found []Entry
	for _, name := range b.names() {
		found = append(found, scan(ctx, name, subjects, before)...)
		found = found[max(0, len(found)-maxRead):]
	}
	return found
}

// longestLine is longer than any entry.
const longestLine = 16 << 10

// scan reads one segment. What it cannot read is skipped.
func scan(ctx context.Context, name string, subjects []string, before int64) (found []Entry) {
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	wanted := make([][]byte, 0, len(subjects))
	for _, s := range subjects {
		if quoted, err := json.Marshal(s); err == nil {
			wanted = append(wanted, quoted)
		}
	}
	lines := bufio.NewReaderSize(file, longestLine)
	for ctx.Err() == nil {
		line, err := lines.ReadSlice('\n')
		mine := slices.ContainsFunc(wanted, func(subject []byte) bool { return bytes.Contains(line, subject) })
		var e Entry
		if mine && json.Unmarshal(line, &e) == nil && slices.Contains(subjects, e.Subject) && (before == 0 || e.ID < before) {
			found = append(found, e)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return found
}
