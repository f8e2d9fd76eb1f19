package sim

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Terminal is a computer whose serial console can be read and typed at.
type Terminal interface {
	// Attach has out get what the console prints from now on, until detach is called. What is written to in is typed.
	Attach(out io.Writer) (in io.Writer, detach func())
}

// attach connects a client with the serial console until it leaves with the keys, or is gone. It reports whether it is still there.
func (m *Machine) attach(client io.ReadWriter, leave string) bool {
	typed, detach := m.openConsole(client)
	defer detach()
	matched := 0
	buffer := make([]byte, 1<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return false
		}
		for i := range n {
			if leave == "" {
				break
			}
			switch buffer[i] {
			case leave[matched]:
				matched++
			case leave[0]:
				matched = 1
			default:
				matched = 0
			}
			if matched == len(leave) {
				return true
			}
		}
		_, _ = typed.Write(buffer[:n]) // a machine that is off takes nothing
	}
}

func (m *Machine) openConsole(out io.Writer) (in io.Writer, detach func()) {
	if computer, ok := m.computer.(Terminal); ok {
		return computer.Attach(out)
	}
	screen := m.watchConsole(out)
	return screen, screen.close
}

// console is one view of the serial console of a simulated machine. It prints what the record of the boot says, as it comes to be.
type console struct {
	machine *Machine
	changed chan struct{} // capacity 1
	done    chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	out     io.Writer
	printed printed
}

// printed is how much of a record has been printed.
type printed struct {
	boot, lines, fetches         int
	post, kernel, settled, ended bool
}

// watchConsole prints what has been printed of the last boot, and what follows.
func (m *Machine) watchConsole(out io.Writer) *console {
	c := &console{machine: m, changed: make(chan struct{}, 1), done: make(chan struct{}), out: out}
	m.mu.Lock()
	m.consoles = append(m.consoles, c)
	m.mu.Unlock()
	c.running.Go(func() {
		for {
			c.print()
			select {
			case <-c.done:
				return
			case <-c.changed:
			}
		}
	})
	return c
}

func (c *console) close() {
	m := c.machine
	m.mu.Lock()
	for i, other := range m.consoles {
		if other == c {
			m.consoles = append(m.consoles[:i:i], m.consoles[i+1:]...)
			break
		}
	}
	m.mu.Unlock()
	close(c.done)
	c.running.Wait()
}

// changedLocked has views of the console print what is new.
func (m *Machine) changedLocked() {
	for _, c := range m.consoles {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

func (c *console) print() {
	records := c.machine.Record()
	if len(records) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.out, c.printed.next(c.machine, &records[len(records)-1])) // a client that is gone is noticed by its reader
}

// next is what a record has that was not printed yet.
func (p *printed) next(m *Machine, r *BootRecord) string {
	var b strings.Builder
	if p.boot != r.Number {
		*p = printed{boot: r.Number}
		fmt.Fprintf(&b, "\r\n%s %s  BIOS\r\nSerial number %s  UUID %s\r\nPower-on self test\r\n", m.bmc.quirks.manufacturer, m.name, m.serial, m.uuid)
	}
	if !r.POST.IsZero() && !p.post {
		p.post = true
		fmt.Fprintf(&b, "Self test passed. Boot source: %s\r\n", r.Boot.Target)
	}
	for ; p.lines < len(r.Console); p.lines++ {
		b.WriteString(r.Console[p.lines] + "\r\n")
	}
	for ; p.fetches < len(r.Fetches); p.fetches++ {
		f := r.Fetches[p.fetches]
		if f.Error != "" {
			fmt.Fprintf(&b, "%s... %s\r\n", f.URL, f.Error)
			continue
		}
		fmt.Fprintf(&b, "%s... ok (%d bytes)\r\n", f.URL, f.Bytes)
	}
	if !r.Kernel.IsZero() && !p.kernel {
		p.kernel = true
		fmt.Fprintf(&b, "[    0.000000] Linux version 6.1.0 (simulated)\r\n[    0.000000] Command line: %s\r\n", r.CommandLine)
	}
	if !r.Settled.IsZero() && !p.settled {
		p.settled = true
		fmt.Fprintf(&b, "Boot ended: %s %s\r\n%s", r.Outcome, r.Why, m.loginPrompt(r))
	}
	if !r.End.IsZero() && !p.ended {
		p.ended = true
		b.WriteString("\r\nPower off\r\n")
	}
	return b.String()
}

// loginPrompt is what a machine shows that has booted.
func (m *Machine) loginPrompt(r *BootRecord) string {
	if r.Outcome == OutcomeProbe || r.Outcome == OutcomeInstalled {
		return "\r\n" + m.serial + " login: "
	}
	return ""
}

// Write echoes what is typed while the machine is on.
func (c *console) Write(p []byte) (int, error) {
	records := c.machine.Record()
	if len(records) == 0 || !records[len(records)-1].End.IsZero() {
		return len(p), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	echo := strings.ReplaceAll(string(p), "\r", "\r\n"+c.machine.loginPrompt(&records[len(records)-1]))
	_, err := io.WriteString(c.out, echo)
	return len(p), err
}
