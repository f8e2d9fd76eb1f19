package sealed

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// aside is the suffix of logs that are not complete.
const aside = ".draft"

// Log is an open log. It is for one goroutine at a time.
type Log struct {
	dir    *Dir
	name   string
	file   File
	sealer *sealer

	size  int64  // of what is durable
	index uint64 // of the next frame
	// cut says that there may be something behind size, unnamed that the name may not be durable yet.
	cut, unnamed bool
	buf          []byte
}

// Opened is what Open found.
type Opened struct {
	// Dropped is how many bytes of an unfinished frame were at the end.
	Dropped int64
}

// Open opens a log and gives its payloads to take, in their order; a payload is valid until take returns. What take was given counts only
// if Open returns no error. A log that does not exist is an error that wraps fs.ErrNotExist.
func Open(dir *Dir, name, purpose string, key Key, take func(payload []byte) error) (*Log, Opened, error) {
	if err := os.Remove(dir.join(name + aside)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Opened{}, err
	}
	file, size, err := dir.open(name, 0)
	if err != nil {
		return nil, Opened{}, err
	}
	l := &Log{dir: dir, name: name, file: file, unnamed: true}
	if err := l.load(size, purpose, key, take); err != nil {
		return nil, Opened{}, errors.Join(err, file.Close())
	}
	opened := Opened{Dropped: size - l.size}
	if l.cut = opened.Dropped > 0; l.cut {
		_ = l.mend() // Append tries again, and says so if it fails
	}
	return l, opened, nil
}

func (l *Log) load(size int64, purpose string, key Key, take func([]byte) error) error {
	header := make([]byte, headerLen)
	n, err := l.file.ReadAt(header, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if l.sealer, err = readHeader(header[:n], l.path(), key, purpose); err != nil {
		return err
	}
	l.size = int64(headerLen)
	frames, end, err := l.walk(size, take)
	l.index, l.size = frames, end
	return err
}

// Walk gives the payloads to take again, as Open does.
func (l *Log) Walk(take func(payload []byte) error) error {
	frames, end, err := l.walk(l.size, take)
	if err == nil && (frames != l.index || end != l.size) {
		return &DamageError{Path: l.path(), Offset: end, Why: "it has become shorter"}
	}
	return err
}

// Append makes a payload durable, as one frame. After an error nothing of it is in the log, and the next Append may succeed.
func (l *Log) Append(payload []byte) error {
	if len(payload) > MaxPayload {
		return &SizeError{Bytes: len(payload)}
	}
	if err := l.mend(); err != nil {
		return &WriteError{Path: l.path(), Err: err}
	}
	before := l.size
	err := l.write(payload)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		// After a failed fsync nobody knows what is on disk. Truncated and written again, it is written for certain.
		if l.size > before {
			l.index--
		}
		l.size, l.cut = before, true
		_ = l.mend() // the next Append tries again
		return &WriteError{Path: l.path(), Err: err}
	}
	return nil
}

// write writes a frame that is not durable yet.
func (l *Log) write(payload []byte) error {
	l.buf = l.sealer.seal(l.buf[:0], l.index, payload)
	if _, err := l.file.WriteAt(l.buf, l.size); err != nil {
		return err
	}
	l.size += int64(len(l.buf))
	l.index++
	if cap(l.buf) > 8<<20 {
		l.buf = nil
	}
	return nil
}

// mend removes what an earlier write has left, durably: a frame that is written over the rest of another would be neither of them if a crash
// came between. And it makes the name durable.
func (l *Log) mend() error {
	if l.cut {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
		if err := l.file.Sync(); err != nil {
			return err
		}
		l.cut = false
	}
	if l.unnamed {
		if err := l.dir.sync(); err != nil {
			return err
		}
		l.unnamed = false
	}
	return nil
}

// Size is the length of the log in bytes.
func (l *Log) Size() int64 { return l.size }

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }

func (l *Log) path() string { return l.dir.join(l.name) }
