package viewfile

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

const (
	name    = "view"
	purpose = "view"

	// batchBytes is how long a frame gets before another one begins.
	batchBytes = 1 << 20
	// slack is how much of a small file may be no longer needed.
	slack = 1 << 20
)

// File is the view on disk. It is safe for concurrent use.
type File struct {
	dir    *sealed.Dir
	key    sealed.Key
	logger logr.Logger
	slack  int64

	mu    sync.Mutex
	log   *sealed.Log
	index *index
	mark  *bootstream.Progress
	// patience is the size up to which a rewrite that failed is not tried again.
	patience int64
	snapshot bool
}

// Open reads the view of a directory. Without one it is an error that wraps fs.ErrNotExist.
func Open(dir *sealed.Dir, key sealed.Key, logger logr.Logger) (*File, bootstream.Kept, error) {
	f := newFile(dir, key, logger)
	loader := loader{index: f.index, by: map[string]*streampb.Record{}}
	log, opened, err := sealed.Open(dir, name, purpose, key, loader.take)
	if err != nil {
		return nil, bootstream.Kept{}, err
	}
	if opened.Dropped > 0 {
		logger.Info("dropped an unfinished write at the end of the last view", "bytes", opened.Dropped)
	}
	f.log, f.mark = log, loader.mark
	return f, loader.held(), nil
}

// Create begins an empty view in the place of the one that is there.
func Create(dir *sealed.Dir, key sealed.Key, logger logr.Logger) (*File, error) {
	draft, err := sealed.NewDraft(dir, name, purpose, key)
	if err != nil {
		return nil, err
	}
	f := newFile(dir, key, logger)
	if f.log, err = draft.Commit(); f.log != nil && err != nil {
		return nil, errors.Join(err, f.log.Close())
	}
	return f, err
}

func newFile(dir *sealed.Dir, key sealed.Key, logger logr.Logger) *File {
	return &File{dir: dir, key: key, logger: logger, slack: slack, index: newIndex()}
}

// loader collects what a file holds.
type loader struct {
	index *index
	by    map[string]*streampb.Record
	mark  *bootstream.Progress
}

func (l *loader) take(frame []byte) error {
	return decode(frame, func(encoded []byte) error {
		record := &streampb.Record{}
		if err := proto.Unmarshal(encoded, record); err != nil {
			return errors.Join(errFrame, err)
		}
		forgotten, ok := l.index.add(record.GetKey(), int64(len(encoded)), record.GetDeleted() != nil)
		l.by[record.GetKey()] = record
		if ok {
			delete(l.by, forgotten)
		}
		return nil
	}, func(m bootstream.Progress) { l.mark = &m })
}

func (l *loader) held() bootstream.Kept {
	held := bootstream.Kept{Records: make([]*streampb.Record, 0, len(l.by)), Progress: l.mark}
	for _, record := range l.by {
		held.Records = append(held.Records, record)
	}
	slices.SortFunc(held.Records, func(a, b *streampb.Record) int {
		return cmp.Compare(l.index.by[a.GetKey()].seq, l.index.by[b.GetKey()].seq)
	})
	return held
}

// Append makes records durable, and behind them a mark, which may be nil. After an error (sealed.WriteError) a part of the records may be
// durable, from the first on, and the file can be appended to. The mark is not.
func (f *File) Append(changes []*streampb.Record, mark *bootstream.Progress) error {
	batches, err := encode(changes, mark)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range batches {
		if err := f.log.Append(b.frame); err != nil {
			return err
		}
		b.note(f.index)
	}
	if mark != nil {
		f.mark = mark
	}
	f.compact()
	return nil
}

// Size is how long the file is, in bytes, and how many records it holds that are needed.
func (f *File) Size() (bytes int64, records int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Size(), len(f.index.by)
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Close()
}

// batch is a frame to be, with what the index has to know of it.
type batch struct {
	frame   []byte
	records []noted
}

type noted struct {
	key     string
	size    int64
	deleted bool
}

func (b *batch) note(x *index) {
	for _, r := range b.records {
		x.add(r.key, r.size, r.deleted)
	}
}

// encode makes frames of records, and puts the mark into the last one.
func encode(changes []*streampb.Record, mark *bootstream.Progress) ([]batch, error) {
	sizes, left := make([]int, len(changes)), 0
	for i, record := range changes {
		sizes[i] = proto.Size(record)
		left += sizes[i] + recordRoom
	}
	var batches []batch
	begin := func() *batch {
		batches = append(batches, batch{frame: make([]byte, 0, min(left, batchBytes+recordRoom))})
		return &batches[len(batches)-1]
	}
	last := begin()
	for i, record := range changes {
		if len(last.frame) > 0 && len(last.frame)+sizes[i] > batchBytes {
			last = begin()
		}
		var err error
		if last.frame, err = encodeRecord(last.frame, record, sizes[i]); err != nil {
			return nil, err
		}
		last.records = append(last.records, noted{record.GetKey(), int64(sizes[i]), record.GetDeleted() != nil})
		left -= sizes[i] + recordRoom
	}
	if mark != nil {
		var err error
		if last.frame, err = appendMark(last.frame, *mark); err != nil {
			return nil, err
		}
	}
	if len(last.frame) == 0 {
		return nil, nil
	}
	return batches, nil
}
