package outbox

import (
	"errors"
	"io/fs"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

const (
	name    = "outbox"
	purpose = "outbox"

	// frameBytes is how long a frame gets before another one begins.
	frameBytes = 1 << 20
	// slack is how much longer than twice what was needed the file becomes before it is written anew.
	slack = 1 << 20
	// unreadFor is how long Problems says that what waited before the start is lost.
	unreadFor = time.Hour
)

// A frame is a message of these fields, which happen in their order.
const (
	fieldItem    protowire.Number = 1 // TellRequest with one message and the number of the item
	fieldRemoved protowire.Number = 2 // number of an item
	fieldRequest protowire.Number = 3 // TellRequest that is in flight from now on
	fieldDone    protowire.Number = 4 // number of a request that a manager has
)

// disk is the file of an outbox.
type disk struct {
	dir *sealed.Dir // nil: there is none
	key sealed.Key
	log *sealed.Log // nil: it has to be written anew
	// base is how long the file was when it was written anew.
	base int64
	// done is the number of a request that the file does not know to be done; zero: none.
	done uint64

	unread, unwritten string
	unreadAt          time.Time
}

// Save makes what is new durable.
func (o *Outbox) Save() error {
	o.files.Lock()
	defer o.files.Unlock()
	if o.disk.dir == nil {
		return nil
	}
	o.mu.Lock()
	anew := o.anew || o.disk.log == nil || o.disk.log.Size() > 2*o.disk.base+slack
	var changed []*item
	var removed []uint64
	if anew {
		o.writeAnew()
		o.anew = false // what changes from now on is noted
		for c := range o.queues {
			changed = append(changed, o.queues[c].waiting()...)
		}
	} else {
		changed, removed, o.changed, o.removed = o.changed, o.removed, nil, nil
	}
	o.mu.Unlock()
	if anew {
		return o.finish(o.rewrite(changed))
	}
	return o.finish(o.append(changed, removed))
}

// finish notes how a write has ended.
func (o *Outbox) finish(err error) error {
	if err == nil {
		o.disk.unwritten = ""
		return nil
	}
	if o.disk.unwritten == "" {
		o.logger.Error(err, "cannot write what waits for the manager, it is in memory alone")
	}
	o.disk.unwritten = "what waits for the manager is in memory alone: " + err.Error()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeAnew()
	return err
}

// append writes what has changed.
func (o *Outbox) append(changed []*item, removed []uint64) error {
	w := writer{append: o.disk.log.Append}
	for _, id := range removed {
		w.number(fieldRemoved, id)
	}
	if o.disk.done != 0 {
		w.number(fieldDone, o.disk.done)
	}
	if err := o.items(&w, changed); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	o.disk.done = 0
	return nil
}

// rewrite writes everything anew.
func (o *Outbox) rewrite(waiting []*item) error {
	draft, err := sealed.NewDraft(o.disk.dir, name, purpose, o.disk.key)
	if err != nil {
		return err
	}
	w := writer{append: draft.Append}
	if o.inFlight != nil {
		err = w.message(fieldRequest, o.inFlight)
	}
	if err == nil {
		err = o.items(&w, waiting)
	}
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return errors.Join(err, draft.Discard())
	}
	log, err := draft.Commit()
	if log != nil {
		if o.disk.log != nil {
			o.disk.log.Close()
		}
		o.disk.log, o.disk.base, o.disk.done = log, log.Size(), 0
	}
	return err
}

// items writes items. It lets those who answer machines in again and again.
func (o *Outbox) items(w *writer, items []*item) error {
	for len(items) > 0 {
		n := min(atOnce, len(items))
		if err := o.some(w, items[:n]); err != nil {
			return err
		}
		items = items[n:]
		if len(w.frame) >= frameBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Outbox) some(w *writer, items []*item) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, it := range items {
		it.changed = 0
		if it.gone {
			continue
		}
		it.saved = true
		r := &streampb.TellRequest{Number: it.id}
		it.put(r)
		if err := w.message(fieldItem, r); err != nil {
			return err
		}
	}
	return nil
}

// saveRequest makes a request durable before anybody sees it, with what it has taken from the rest. While the file cannot be written, Save
// tries.
func (o *Outbox) saveRequest(r *streampb.TellRequest) {
	if o.disk.dir == nil || o.disk.log == nil {
		return
	}
	o.mu.Lock()
	anew, removed := o.anew, o.removed
	o.removed = nil
	o.mu.Unlock()
	if anew {
		return
	}
	w := writer{append: o.disk.log.Append}
	for _, id := range removed {
		w.number(fieldRemoved, id)
	}
	err := w.message(fieldRequest, r)
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		o.disk.done = 0 // another request says that the one before is done
	}
	_ = o.finish(err)
}

// writer makes frames.
type writer struct {
	frame  []byte
	append func([]byte) error
}

func (w *writer) number(field protowire.Number, n uint64) {
	w.frame = protowire.AppendTag(w.frame, field, protowire.VarintType)
	w.frame = protowire.AppendVarint(w.frame, n)
}

func (w *writer) message(field protowire.Number, r *streampb.TellRequest) error {
	encoded, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	w.frame = protowire.AppendTag(w.frame, field, protowire.BytesType)
	w.frame = protowire.AppendBytes(w.frame, encoded)
	return nil
}

func (w *writer) flush() error {
	if len(w.frame) == 0 {
		return nil
	}
	err := w.append(w.frame)
	w.frame = w.frame[:0]
	return err
}

// load reads what waited when the process before ended.
func (o *Outbox) load() {
	if o.disk.dir == nil {
		return
	}
	l := loader{items: map[uint64]*streampb.TellRequest{}}
	log, opened, err := sealed.Open(o.disk.dir, name, purpose, o.disk.key, l.take)
	switch wrongKey := (*sealed.KeyError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		_ = o.Save() // Problems says it
		return
	case errors.As(err, &wrongKey): // the right key can still read it
		o.disk.dir, o.tracking = nil, false
		o.disk.unwritten = "what waits for the manager is in memory alone: " + err.Error()
		o.logger.Error(err, "cannot read what waited for the manager")
		return
	case err != nil:
		o.disk.unread, o.disk.unreadAt = "what waited for the manager before the start is lost: "+err.Error(), o.clock.Now()
		o.logger.Error(err, "cannot read what waited for the manager")
		_ = o.Save() // Problems says it
		return
	}
	if opened.Dropped > 0 {
		o.logger.Info("dropped an unfinished write at the end of the outbox", "bytes", opened.Dropped)
	}
	o.disk.log = log // base is zero: a long file is written anew soon
	o.restore(&l)
}
