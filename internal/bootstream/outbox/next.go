package outbox

import (
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// atOnce is how many items are handled while those who answer machines wait.
const atOnce = 32

// Next returns a request of at most so many messages, or nil if nothing waits. It returns the same one, which nobody may change, until Done.
func (o *Outbox) Next(most int) *streampb.TellRequest {
	o.files.Lock()
	defer o.files.Unlock()
	if o.inFlight != nil {
		return o.inFlight
	}
	items := o.take(most)
	if len(items) == 0 {
		return nil
	}
	o.number++
	r := &streampb.TellRequest{Instance: o.instance, Number: o.number}
	for _, it := range items {
		it.put(r)
	}
	o.inFlight = r
	o.saveRequest(r)
	return r
}

// take removes the oldest items, the most important class first.
func (o *Outbox) take(most int) (items []*item) {
	for len(items) < most {
		n := len(items)
		o.mu.Lock()
		for c := class(0); c < classes; c++ {
			for q := &o.queues[c]; q.len() > 0 && len(items) < min(most, n+atOnce); {
				it := q.pop()
				o.forget(it)
				items = append(items, it)
			}
		}
		o.mu.Unlock()
		if len(items) == n {
			break
		}
	}
	return items
}

// Done says that a manager has the request of this number.
func (o *Outbox) Done(number uint64) {
	o.files.Lock()
	defer o.files.Unlock()
	if o.inFlight.GetNumber() != number {
		return // an answer that comes late, to a request that was repeated
	}
	o.inFlight = nil
	o.disk.done = number
}

// Waiting is how many messages no manager has yet, those of the request in flight apart.
func (o *Outbox) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.by)
}

// Problems are sentences about what is wrong with the file; none: it is in order.
func (o *Outbox) Problems() (problems []string) {
	o.files.Lock()
	defer o.files.Unlock()
	if o.disk.unread != "" && o.clock.Since(o.disk.unreadAt) < unreadFor {
		problems = append(problems, o.disk.unread)
	}
	if o.disk.unwritten != "" {
		problems = append(problems, o.disk.unwritten)
	}
	return problems
}
