package link

import (
	"context"
	"net/netip"
	"slices"
	"sync"
)

// socket is what questions are sent by and answers come to.
type socket interface {
	// send asks about an address.
	send(netip.Addr) error
	// receive waits for a packet, and returns the address that it is an answer about, and who has it; invalid: it is none.
	receive() (netip.Addr, string, error)
	Close() error
}

// inquiry asks who has which addresses, with one socket for all questions at a time: each socket of its kind is handed a copy of every answer on the segment.
type inquiry struct {
	open func() (socket, error)

	mu sync.Mutex
	// asked are the questions that wait, and over what; nil: none do.
	asked *asked
}

// asked are the questions over one socket.
type asked struct {
	socket
	questions map[netip.Addr][]*question
	ended     chan struct{} // closed when nothing is received any more
	err       error         // why, then
}

// question is whether somebody has an address who is none of some.
type question struct {
	none     []string
	answered chan struct{}
	once     sync.Once
}

// ask waits for an answer about an address from somebody who is none of some, for as long as ctx lets it.
func (i *inquiry) ask(ctx context.Context, a netip.Addr, none ...string) (bool, error) {
	q := &question{none: none, answered: make(chan struct{})}
	over, err := i.enter(a, q)
	if err != nil {
		return false, err
	}
	defer i.leave(over, a, q)
	if err := over.send(a); err != nil {
		return false, err
	}
	select {
	case <-q.answered:
		return true, nil
	case <-over.ended:
		return false, over.err
	case <-ctx.Done():
		return false, nil
	}
}

// enter has a question wait for its answer.
func (i *inquiry) enter(a netip.Addr, q *question) (*asked, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asked == nil {
		s, err := i.open()
		if err != nil {
			return nil, err
		}
		i.asked = &asked{socket: s, questions: map[netip.Addr][]*question{}, ended: make(chan struct{})}
		go i.receive(i.asked)
	}
	i.asked.questions[a] = append(i.asked.questions[a], q)
	return i.asked, nil
}

// leave takes a question back. The last one closes the socket.
func (i *inquiry) leave(over *asked, a netip.Addr, q *question) {
	i.mu.Lock()
	defer i.mu.Unlock()
	rest := slices.DeleteFunc(over.questions[a], func(o *question) bool { return o == q })
	if over.questions[a] = rest; len(rest) > 0 {
		return
	}
	if delete(over.questions, a); len(over.questions) > 0 {
		return
	}
	_ = over.Close()
	if i.asked == over {
		i.asked = nil
	}
}

// receive takes answers until the socket is closed, or cannot be read any more.
func (i *inquiry) receive(over *asked) {
	defer close(over.ended)
	for {
		a, who, err := over.socket.receive()
		if err != nil {
			i.mu.Lock()
			defer i.mu.Unlock()
			over.err = err
			if i.asked == over {
				i.asked = nil // the next question has a socket of its own
			}
			return
		}
		i.mu.Lock()
		for _, q := range over.questions[a] {
			if !slices.Contains(q.none, who) {
				q.once.Do(func() { close(q.answered) })
			}
		}
		i.mu.Unlock()
	}
}
