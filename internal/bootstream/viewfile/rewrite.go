package viewfile

import (
	"errors"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

var (
	errSnapshot = errors.New("view file: another snapshot is being written")
	errOver     = errors.New("view file: the snapshot has ended")
)

// Snapshot is a view that is being written aside. It is for one goroutine at a time.
type Snapshot struct {
	file  *File
	draft *sealed.Draft
	index *index
}

// Replace begins a snapshot. What the file holds stays valid, and can be appended to, until Commit. There is one snapshot at a time, and
// nothing is compacted meanwhile.
func (f *File) Replace() (*Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.snapshot {
		return nil, errSnapshot
	}
	draft, err := sealed.NewDraft(f.dir, name, purpose, f.key)
	if err != nil {
		return nil, err
	}
	f.snapshot = true
	return &Snapshot{file: f, draft: draft, index: newIndex()}, nil
}

// Add adds records to the snapshot. After an error only Discard is left to do.
func (s *Snapshot) Add(changes []*streampb.Record) error { return s.add(changes, nil) }

func (s *Snapshot) add(changes []*streampb.Record, mark *bootstream.Progress) error {
	if s.draft == nil {
		return errOver
	}
	batches, err := encode(changes, mark)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := s.draft.Append(b.frame); err != nil {
			return err
		}
		b.note(s.index)
	}
	return nil
}

// Commit puts the snapshot in the place of everything. It is durable when Commit returns. After an error the snapshot has ended as well.
func (s *Snapshot) Commit(mark bootstream.Progress) error {
	if err := s.add(nil, &mark); err != nil {
		s.Discard()
		return err
	}
	f := s.file
	f.mu.Lock()
	defer f.mu.Unlock()
	log, err := s.draft.Commit()
	s.draft, f.snapshot = nil, false
	if log != nil {
		f.use(log, s.index)
		f.mark = &mark
	}
	return err
}

// Discard ends a snapshot that is not complete. After Commit it does nothing.
func (s *Snapshot) Discard() {
	if s.draft == nil {
		return
	}
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	_ = s.draft.Discard() // Open and the next draft remove what it leaves
	s.draft, s.file.snapshot = nil, false
}

// use goes over to another log.
func (f *File) use(log *sealed.Log, x *index) {
	f.log.Close()
	f.log, f.index, f.patience = log, x, 0
}

// compact rewrites the file when more than half of it is not needed. A failure changes nothing, and is tried again when the file has grown.
func (f *File) compact() {
	size := f.log.Size()
	if f.snapshot || size < f.patience || size-f.index.live <= f.index.live+f.slack {
		return
	}
	log, x, err := f.rewrite()
	if log != nil {
		f.use(log, x)
	}
	if err != nil {
		f.patience = f.log.Size() + f.log.Size()/8 + f.slack
		f.logger.Error(err, "cannot shorten the last view, which grows until there is room")
	}
}

// rewrite copies what is needed.
func (f *File) rewrite() (*sealed.Log, *index, error) {
	draft, err := sealed.NewDraft(f.dir, name, purpose, f.key)
	if err != nil {
		return nil, nil, err
	}
	c := copier{from: f.index, to: newIndex(), draft: draft}
	c.to.most = f.index.most
	err = f.log.Walk(c.take)
	if err == nil {
		err = c.finish(f.mark)
	}
	if err != nil {
		return nil, nil, errors.Join(err, draft.Discard())
	}
	log, err := draft.Commit()
	return log, c.to, err
}

// copier copies the records that an index needs.
type copier struct {
	from, to *index
	seq      uint64
	draft    *sealed.Draft
	frame    []byte
}

func (c *copier) take(frame []byte) error {
	return decode(frame, c.record, func(bootstream.Progress) {})
}

func (c *copier) record(encoded []byte) error {
	key, err := keyOf(encoded)
	if err != nil {
		return err
	}
	p, known := c.from.by[key]
	needed := known && p.seq == c.seq
	c.seq++
	if !needed {
		return nil
	}
	if len(c.frame)+len(encoded) > batchBytes {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.frame = appendRecord(c.frame, encoded)
	c.to.add(key, p.size, p.deleted)
	return nil
}

func (c *copier) flush() error {
	if len(c.frame) == 0 {
		return nil
	}
	err := c.draft.Append(c.frame)
	c.frame = c.frame[:0]
	return err
}

func (c *copier) finish(mark *bootstream.Progress) (err error) {
	if mark != nil {
		if c.frame, err = appendMark(c.frame, *mark); err != nil {
			return err
		}
	}
	return c.flush()
}
