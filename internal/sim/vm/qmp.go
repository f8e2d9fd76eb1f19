package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// qmpTimeout is how long QEMU may take to answer, also on a busy host that starts many.
const qmpTimeout = 30 * time.Second

// maxMessage bounds a message of QEMU.
const maxMessage = 1 << 20

// monitor speaks QMP with one process of QEMU.
type monitor struct {
	conn    net.Conn
	scanner *bufio.Scanner

	mu     sync.Mutex // of commands
	nextID int
	// answers are of commands that wait for them, by id.
	answers map[int]chan error
	// reason is why the guest went off; empty: it did not say.
	reason string
}

// message is anything that QEMU sends.
type message struct {
	QMP   json.RawMessage `json:"QMP"`
	Event string          `json:"event"`
	Data  struct {
		Reason string `json:"reason"`
	} `json:"data"`
	ID    *int `json:"id"`
	Error *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
}

func newMonitor(conn net.Conn) *monitor {
	m := &monitor{conn: conn, scanner: bufio.NewScanner(conn), answers: map[int]chan error{}}
	m.scanner.Buffer(nil, maxMessage)
	return m
}

// greet waits for QEMU and enters command mode. It has to be there before listen.
func (m *monitor) greet() error {
	if err := m.conn.SetDeadline(time.Now().Add(qmpTimeout)); err != nil {
		return err
	}
	greeting, err := m.next()
	if err != nil {
		return fmt.Errorf("QMP greeting: %w", err)
	}
	if greeting.QMP == nil {
		return errors.New("QMP greeting: something else came")
	}
	if err := m.send(0, "qmp_capabilities"); err != nil {
		return err
	}
	for {
		answer, err := m.next()
		switch {
		case err != nil:
			return fmt.Errorf("QMP capabilities: %w", err)
		case answer.Error != nil:
			return fmt.Errorf("QMP capabilities: %s", answer.Error.Desc)
		case answer.ID != nil:
			return m.conn.SetDeadline(time.Time{})
		}
		m.note(answer)
	}
}

func (m *monitor) next() (message, error) {
	var msg message
	if !m.scanner.Scan() {
		err := m.scanner.Err()
		if err == nil {
			err = net.ErrClosed
		}
		return msg, err
	}
	return msg, json.Unmarshal(m.scanner.Bytes(), &msg)
}

func (m *monitor) send(id int, command string) error {
	line, err := json.Marshal(map[string]any{"execute": command, "id": id})
	if err != nil {
		return err
	}
	_, err = m.conn.Write(append(line, '\n'))
	return err
}

// listen hears QEMU until the connection ends.
func (m *monitor) listen() {
	for {
		msg, err := m.next()
		if err != nil {
			break
		}
		m.note(msg)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, answer := range m.answers {
		answer <- net.ErrClosed
		delete(m.answers, id)
	}
}

func (m *monitor) note(msg message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if msg.Event == "SHUTDOWN" {
		m.reason = msg.Data.Reason
	}
	if msg.ID == nil {
		return
	}
	answer := m.answers[*msg.ID]
	if answer == nil {
		return
	}
	delete(m.answers, *msg.ID)
	if msg.Error != nil {
		answer <- fmt.Errorf("QMP: %s", msg.Error.Desc)
		return
	}
	answer <- nil
}

// execute runs a command without arguments and waits for its end.
func (m *monitor) execute(command string) error {
	m.mu.Lock()
	m.nextID++
	id, answer := m.nextID, make(chan error, 1)
	m.answers[id] = answer
	err := m.conn.SetWriteDeadline(time.Now().Add(qmpTimeout))
	if err == nil {
		err = m.send(id, command)
	}
	m.mu.Unlock()
	timer := time.NewTimer(qmpTimeout)
	defer timer.Stop()
	if err == nil {
		select {
		case err = <-answer:
		case <-timer.C:
			err = fmt.Errorf("no answer within %s", qmpTimeout)
		}
	}
	if err != nil {
		m.mu.Lock()
		delete(m.answers, id)
		m.mu.Unlock()
		return fmt.Errorf("QMP %s: %w", command, err)
	}
	return nil
}

// ended is why the guest went off, as far as QEMU has said.
func (m *monitor) ended() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reason
}
