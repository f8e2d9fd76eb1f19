package vm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// fakeQEMU answers on the other end of a connection, each command by what answer says.
func fakeQEMU(t *testing.T, greeting string, answer func(command string, id int) string) *monitor {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	go func() {
		defer func() { _ = theirs.Close() }()
		if _, err := fmt.Fprintln(theirs, greeting); err != nil {
			return
		}
		for lines := bufio.NewScanner(theirs); lines.Scan(); {
			var command struct {
				Execute string `json:"execute"`
				ID      int    `json:"id"`
			}
			if json.Unmarshal(lines.Bytes(), &command) != nil {
				return
			}
			reply := answer(command.Execute, command.ID)
			if reply == "" {
				return
			}
			if _, err := fmt.Fprintln(theirs, reply); err != nil {
				return
			}
		}
	}()
	return newMonitor(ours)
}

const qmpGreeting = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}}`

func done(id int) string { return fmt.Sprintf(`{"return": {}, "id": %d}`, id) }

func TestQMP(t *testing.T) {
	m := fakeQEMU(t, qmpGreeting, func(command string, id int) string {
		switch command {
		case "qmp_capabilities":
			return `{"event": "RESUME", "timestamp": {"seconds": 1, "microseconds": 0}}` + "\n" + done(id)
		case "system_powerdown":
			return `{"event": "POWERDOWN"}` + "\n" + done(id)
		case "quit":
			return `{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}` + "\n" + done(id)
		case "leave":
			return ""
		}
		return fmt.Sprintf(`{"id": %d, "error": {"class": "CommandNotFound", "desc": "The command %s has not been found"}}`, id, command)
	})
	if err := m.greet(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { m.listen(); close(ended) }()
	if err := m.execute("system_powerdown"); err != nil {
		t.Error(err)
	}
	if m.ended() != "" {
		t.Errorf("ended: %q", m.ended())
	}
	if err := m.execute("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense has not been found") {
		t.Errorf("a command that is refused: %v", err)
	}
	if err := m.execute("quit"); err != nil || m.ended() != guestShutdown {
		t.Errorf("%v, ended: %q", err, m.ended())
	}
	if err := m.execute("leave"); err == nil {
		t.Error("a command that nobody answers succeeds")
	}
	<-ended
	if err := m.execute("system_powerdown"); err == nil {
		t.Error("a command after the end succeeds")
	}
}

// What is no QEMU, or one that refuses, is an error and no hang.
func TestQMPGreeting(t *testing.T) {
	for name, c := range map[string]struct {
		greeting, answer string
	}{
		"something else": {`{"return": {}}`, ""},
		"no JSON":        {"SSH-2.0", ""},
		"refused":        {qmpGreeting, `{"id": 0, "error": {"class": "GenericError", "desc": "no"}}`},
		"gone":           {qmpGreeting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := fakeQEMU(t, c.greeting, func(string, int) string { return c.answer })
			if err := m.greet(); err == nil {
				t.Error("taken for QEMU")
			}
		})
	}
}
