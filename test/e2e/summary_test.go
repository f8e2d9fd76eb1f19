package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// outcomeVariable names a folder for what a run leaves behind: the summary, and of each machine of a test that failed its serial line and its packets. Without it there is
// none of them, and a serial line is in the test's output.
const outcomeVariable = "FARRIER_E2E_OUTCOME"

const summaryName = "summary.txt"

// outcome is how it went with a machine.
type outcome string

const (
	outcomeOK      outcome = "ok"
	outcomeFailed  outcome = "FAILED"
	outcomeLeftOut outcome = "left out"
)

// inFullRuns leaves a test out of a short run (go test -short), which has ten minutes: another test boots nearly the same.
func inFullRuns(t *testing.T) {
	t.Helper()
	if !testing.Short() {
		return
	}
	if folder := os.Getenv(outcomeVariable); folder != "" {
		if err := summarize(folder, t.Name(), outcomeLeftOut, 0); err != nil {
			t.Error(err)
		}
	}
	t.Skip("left out of a short run")
}

// tabulate has the summary say how a test went whose machines are not of this program, and for how long it ran.
func tabulate(t *testing.T) {
	t.Helper()
	folder, begin := os.Getenv(outcomeVariable), time.Now()
	if folder == "" {
		return
	}
	t.Cleanup(func() {
		how := outcomeOK
		if t.Failed() {
			how = outcomeFailed
		}
		if err := summarize(folder, t.Name(), how, time.Since(begin)); err != nil {
			t.Error(err)
		}
	})
}

// reached notes how long after power-on a machine has done what was awaited.
func (m *vm) reached() { m.took = time.Since(m.on) }

// account adds a machine that is off to the summary, and keeps what it said if its test has failed.
func (m *vm) account(uuid, capture string) {
	serial := strings.ToValidUTF8(m.printed(), "?")
	folder := os.Getenv(outcomeVariable)
	if folder == "" {
		if m.t.Failed() {
			m.t.Logf("the serial line of %s:\n%s", uuid, serial)
		}
		return
	}
	how := outcomeOK
	if m.t.Failed() {
		how = outcomeFailed
	}
	if err := summarize(folder, m.t.Name(), how, m.took); err != nil {
		m.t.Error(err)
	}
	if !m.t.Failed() {
		return
	}
	kept, err := keep(filepath.Join(folder, strings.ReplaceAll(m.t.Name(), "/", "-"), uuid), serial, capture)
	if err != nil {
		m.t.Error(err)
	}
	m.t.Logf("serial line and packets of %s are in %s; the serial line ends:\n%s", uuid, kept, serial[max(0, len(serial)-2000):])
}

// summarize adds a line about a machine.
func summarize(folder, name string, how outcome, took time.Duration) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// A process for each namespace writes it.
	f, err := os.OpenFile(filepath.Join(folder, summaryName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(summaryLine(name, how, took))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func summaryLine(name string, how outcome, took time.Duration) string {
	seconds := "-"
	if took > 0 {
		seconds = fmt.Sprintf("%.0f", took.Seconds())
	}
	return fmt.Sprintf("%-72s %-8s %7s\n", strings.ReplaceAll(strings.TrimPrefix(name, "Test"), "_", " "), how, seconds)
}

// keep writes a serial line and copies packets.
func keep(folder, serial, capture string) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "serial.log"), []byte(serial), 0o644); err != nil {
		return "", err
	}
	packets, err := os.ReadFile(capture)
	if err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "capture.pcap"), packets, 0o644)
}

// TestSummary needs no machine.
func TestSummary(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "outcome")
	for _, m := range []struct {
		name string
		how  outcome
		took time.Duration
	}{{"TestDHCP/HTTP_boot_of_OVMF", outcomeOK, 12600 * time.Millisecond}, {"TestIPXE/bios", outcomeFailed, 0}, {"TestARM64", outcomeLeftOut, 0}} {
		if err := summarize(folder, m.name, m.how, m.took); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, summaryName))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	if want := "DHCP/HTTP boot of OVMF ok 13|IPXE/bios FAILED -|ARM64 left out -"; strings.Join(got, "|") != want {
		t.Errorf("the summary says %q, want %q", got, want)
	}
	capture := filepath.Join(t.TempDir(), "packets")
	if err := os.WriteFile(capture, []byte("pcap"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := keep(filepath.Join(folder, "a"), "said", capture)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"serial.log": "said", "capture.pcap": "pcap"} {
		if got, err := os.ReadFile(filepath.Join(kept, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
