package sealed

import (
	"bufio"
	"errors"
	"io"
)

// walk reads the frames between the header and size. It returns how many there are and where the last one ends.
func (l *Log) walk(size int64, take func([]byte) error) (frames uint64, end int64, err error) {
	end = int64(headerLen)
	in := bufio.NewReaderSize(io.NewSectionReader(l.file, end, size-end), 1<<20)
	start := make([]byte, startLen)
	var body []byte
	for end < size {
		if size-end < startLen {
			return frames, end, nil // unfinished
		}
		if _, err := io.ReadFull(in, start); err != nil {
			return frames, end, l.unread(end, err)
		}
		length, ok := l.sealer.start(start, frames)
		if !ok {
			return frames, end, l.unwritten(end, start, in)
		}
		if size-end < int64(startLen+length+tagLen) {
			return frames, end, nil // unfinished
		}
		body = room(body, length+tagLen)
		if _, err := io.ReadFull(in, body); err != nil {
			return frames, end, l.unread(end, err)
		}
		next := end + int64(startLen+length+tagLen)
		zeros := next == size && zero(body[length:])
		payload, err := l.sealer.open(start, body, frames)
		switch {
		case err != nil && zeros:
			return frames, end, nil // unfinished
		case err != nil:
			return frames, end, &DamageError{Path: l.path(), Offset: end, Why: "a frame is not authentic"}
		}
		if err := take(payload); err != nil {
			return frames, end, err
		}
		frames, end = frames+1, next
	}
	return frames, end, nil
}

// unread says what an error of reading means.
func (l *Log) unread(at int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &DamageError{Path: l.path(), Offset: at, Why: "it ends while it is read"}
	}
	return &DamageError{Path: l.path(), Offset: at, Why: "it cannot be read: " + err.Error()}
}

// unwritten tells the start of a frame that was never written, zeros to the end of the file, from one that is damaged.
func (l *Log) unwritten(at int64, start []byte, rest io.Reader) error {
	chunk := start
	for {
		if !zero(chunk) {
			return &DamageError{Path: l.path(), Offset: at, Why: "the start of a frame is not authentic"}
		}
		n, err := io.ReadFull(rest, start)
		if chunk = start[:n]; n == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return l.unread(at, err)
		}
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func room(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
