package bootstream

import (
	"maps"
	"math"
	"slices"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// maxGone bounds how many deletions a boot server remembers, against managers that lag behind.
const maxGone = 1 << 16

// holdings are what a boot server holds of every key, without the contents: enough to tell news from what is older. They are pure.
type holdings struct {
	// position is how far the boot server has come in the journal of one manager; observed is what that was made of.
	position streampb.Position
	observed map[string]uint64
	keys     map[string]holding
	// records is how many keys are not deleted.
	records int
	// gone are the keys of deletions, oldest first.
	gone []string
	// refused are the counters, in the journal of position, of records that cannot be used, by key.
	refused map[string]uint64
	// round is the snapshot that is under way, or was last.
	round uint32
	// unsure: the last snapshot lacked records that its manager may not have seen the objects of.
	unsure bool
}

type holding struct {
	epoch            string
	counter, version uint64
	deleted          bool
	// round is the snapshot that it was in last.
	round uint32
}

func newHoldings() *holdings {
	return &holdings{observed: map[string]uint64{}, keys: map[string]holding{}, refused: map[string]uint64{}}
}

// older reports whether a snapshot was made of older objects than what is held. A kind that only one of them knows says nothing.
func (h *holdings) older(observed map[string]uint64) bool {
	for kind, held := range h.observed {
		if version, known := observed[kind]; known && version < held {
			return true
		}
	}
	return false
}

// news reports whether a record of an epoch is to take the place of what is held of its key.
//
// Within an epoch the counter decides. Between epochs the resource version does: a record that was made of older objects comes from a
// manager that lags behind, and so does one that was made of the same objects as a record that is deleted since.
func (h *holdings) news(epoch string, r *streampb.Record) bool {
	held, known := h.keys[r.Key]
	switch {
	case !known:
		return true
	case held.epoch == epoch:
		return r.Counter > held.counter
	case r.Version == 0 || held.version == 0:
		return true
	case held.deleted:
		return r.Version > held.version
	}
	return r.Version >= held.version
}

// has reports whether there is something of a key that is not deleted.
func (h *holdings) has(key string) bool {
	held, known := h.keys[key]
	return known && !held.deleted
}

// refuse notes that a record cannot be used.
func (h *holdings) refuse(key string, counter uint64) { h.refused[key] = counter }

// begin begins a snapshot, which has what was refused as well.
func (h *holdings) begin() {
	h.round++
	clear(h.refused)
}

// resume is the position to go on from: short of what was refused. The next manager has to hear of the refusal as well, and what comes after
// this program, a newer version of it perhaps, may be able to use the record.
func (h *holdings) resume() *streampb.Position {
	p := &streampb.Position{Epoch: h.position.Epoch, Counter: h.position.Counter}
	for _, counter := range h.refused {
		p.Counter = min(p.Counter, max(counter, 1)-1)
	}
	return p
}

// seen notes that a key is in the snapshot that is under way, whether or not it was news.
func (h *holdings) seen(key string) {
	if held, known := h.keys[key]; known {
		held.round = h.round
		h.keys[key] = held
	}
}

// take notes what is held of a key now.
func (h *holdings) take(epoch string, r *streampb.Record) {
	delete(h.refused, r.Key)
	deleted := r.GetDeleted() != nil
	if held, known := h.keys[r.Key]; known && !held.deleted {
		h.records--
	}
	if !deleted {
		h.records++
	}
	h.keys[r.Key] = holding{epoch: epoch, counter: r.Counter, version: r.Version, deleted: deleted, round: h.round}
	if !deleted {
		return
	}
	h.gone = append(h.gone, r.Key)
	if len(h.gone) <= maxGone {
		return
	}
	for _, key := range h.gone[:maxGone/2] {
		if h.keys[key].deleted {
			delete(h.keys, key)
		}
	}
	h.gone = append([]string(nil), h.gone[maxGone/2:]...)
}

// absent are the deletions of what is held and was not in the snapshot that has ended at a counter, by a manager that has seen that much. They are
// as old as that: the counter of what is held may be of another epoch, and the next record of the key has to be news. What was made of newer
// objects than the manager has seen is not gone, for it does not know of it yet.
func (h *holdings) absent(counter uint64, observed map[string]uint64) []*streampb.Record {
	newest := uint64(math.MaxUint64)
	if len(observed) > 0 {
		newest = slices.Max(slices.Collect(maps.Values(observed)))
	}
	h.unsure = false
	var all []*streampb.Record
	for key, held := range h.keys {
		switch {
		case held.deleted || held.round == h.round:
		case held.version > newest:
			h.unsure = true
		default:
			all = append(all, &streampb.Record{
				Key: key, Counter: counter, Version: held.version, Body: &streampb.Record_Deleted{Deleted: &streampb.Deleted{}},
			})
		}
	}
	return all
}

// current notes that everything up to a position is held.
func (h *holdings) current(epoch string, counter uint64, observed map[string]uint64) {
	h.position.Reset()
	h.position.Epoch, h.position.Counter = epoch, counter
	h.observed = maps.Clone(observed)
}
