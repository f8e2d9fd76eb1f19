package outbox

import (
	"errors"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// errFrame is for a frame that is authentic and makes no sense.
var errFrame = errors.New("outbox: a frame that nobody wrote")

// loader collects what a file holds.
type loader struct {
	items    map[uint64]*streampb.TellRequest
	inFlight *streampb.TellRequest
	lastID   uint64
	number   uint64
}

func (l *loader) take(frame []byte) error {
	for len(frame) > 0 {
		field, kind, n := protowire.ConsumeTag(frame)
		if n < 0 {
			return errFrame
		}
		frame = frame[n:]
		var err error
		switch kind {
		case protowire.BytesType:
			var value []byte
			if value, n = protowire.ConsumeBytes(frame); n >= 0 {
				err = l.message(field, value)
			}
		case protowire.VarintType:
			var value uint64
			if value, n = protowire.ConsumeVarint(frame); n >= 0 {
				l.numbered(field, value)
			}
		default:
			n = protowire.ConsumeFieldValue(field, kind, frame)
		}
		if n < 0 || err != nil {
			return errors.Join(errFrame, err)
		}
		frame = frame[n:]
	}
	return nil
}

func (l *loader) message(field protowire.Number, encoded []byte) error {
	r := &streampb.TellRequest{}
	if err := proto.Unmarshal(encoded, r); err != nil {
		return err
	}
	switch field {
	case fieldItem:
		l.items[r.GetNumber()] = r
		l.lastID = max(l.lastID, r.GetNumber())
	case fieldRequest:
		l.inFlight = r
		l.number = max(l.number, r.GetNumber())
	}
	return nil
}

func (l *loader) numbered(field protowire.Number, n uint64) {
	switch field {
	case fieldRemoved:
		delete(l.items, n)
	case fieldDone:
		if l.inFlight.GetNumber() == n {
			l.inFlight = nil
		}
	}
}

// restore takes over what a file holds.
func (o *Outbox) restore(l *loader) {
	// Numbers go on, although the instance is another one, so that a late Done cannot mean another request.
	o.inFlight, o.number = l.inFlight, l.number
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastID = l.lastID
	for _, id := range slices.Sorted(maps.Keys(l.items)) {
		for _, it := range itemsOf(l.items[id]) {
			it.id, it.saved = id, true
			o.enter(it)
		}
	}
	if len(o.by) > 0 || o.inFlight != nil {
		o.news <- struct{}{}
	}
}
