package charttest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"
)

// patience is longer than programs take to start on a machine that does much else.
const patience = 3 * time.Minute

// A child is a program that runs until the test ends.
type child struct {
	lines chan string
	ended chan struct{}
}

// run starts a program that a variable names; without the variable the test is skipped.
func run(t *testing.T, variable string, arguments ...string) *child {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skip(variable + " names no program: make acceptance sets it")
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, arguments...)
	read, write := io.Pipe()
	command.Stdout, command.Stderr = write, write
	if _, err := command.StdinPipe(); err != nil { // the API server ends with its standard input
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{lines: make(chan string, 1000), ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		_ = write.Close()
		close(c.ended)
	}()
	go func() {
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			select {
			case c.lines <- scanner.Text():
			default: // nobody waits for so many
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		<-c.ended
	})
	return c
}

// says waits for a line that has a text, and returns it.
func (c *child) says(t *testing.T, text string) string {
	t.Helper()
	var before []string
	for end := time.After(patience); ; {
		select {
		case line := <-c.lines:
			if strings.Contains(line, text) {
				return line
			}
			before = append(before, line)
		case <-end:
			t.Fatalf("it does not say %q, but:\n%s", text, strings.Join(before, "\n"))
		}
	}
}

// said is what it has printed that nobody has read.
func (c *child) said() string {
	var lines []string
	for {
		select {
		case line := <-c.lines:
			lines = append(lines, line)
		default:
			return strings.Join(lines, "\n")
		}
	}
}

// free is an address of loopback that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.97.0.2:0") // of an IP address of its own, so that no connection of this host takes its port meanwhile
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// fileOf writes the file --config of a program as the chart has it, with the addresses and folders of this test in place of those of a pod.
func fileOf(t *testing.T, objects []object, name string, here map[string]any) string {
	t.Helper()
	flags := map[string]any{}
	if err := yaml.Unmarshal([]byte(one[*corev1.ConfigMap](t, objects, name).Data[name+".yaml"]), &flags); err != nil {
		t.Fatal(err)
	}
	for flag, value := range here {
		if _, set := flags[flag]; !set {
			t.Errorf("the chart does not set --%s of %s", flag, name)
		}
		flags[flag] = value
	}
	text, err := yaml.Marshal(flags)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheyFindEachOther: the built programs, with the files of the chart and certificates for the names that docs/install.md says, follow each other: the boot
// server is ready, which it is not before a manager has welcomed it.
func TestTheyFindEachOther(t *testing.T) {
	dir := t.TempDir()
	objects := rendered(t, withCertManager, withBootServers+"certs: {mode: self}\nwebhooks: {enabled: false}\nmetrics: {enabled: false}\n")
	for _, arguments := range [][]string{
		{"init"}, {"issue", "farrier-boot-stream." + namespace + ".svc", "--manager"}, {"issue", "farrier-bootserver." + namespace + ".svc"},
	} {
		if out := ran(t, "FARRIER_TEST_BINARY", append(append([]string{"cert"}, arguments...), "--dir", filepath.Join(dir, "ca"))...); strings.Contains(out, "farrier:") {
			t.Fatal(out)
		}
	}
	api := run(t, "FARRIER_TEST_CONTROLPLANE", "--data-dir", filepath.Join(dir, "api"))
	kubeconfig := strings.Fields(api.says(t, "ready "))[2]
	stream, health := free(t), free(t)
	manager := run(t, "FARRIER_TEST_MANAGER", "--kubeconfig", kubeconfig, "--install-crds", "--config", fileOf(t, objects, "farrier-manager", map[string]any{
		"manager-namespace": "default", "data-dir": filepath.Join(dir, "manager"), "health-address": "127.0.0.1:0", "boot-address": free(t),
		"boot-stream-address": stream, "boot-stream-certificates-dir": filepath.Join(dir, "ca", "farrier-boot-stream."+namespace+".svc"),
	}))
	bootServer := run(t, "FARRIER_TEST_BOOTSERVER", "--config", fileOf(t, objects, "farrier-bootserver", map[string]any{
		"managers": []string{stream}, "data-dir": filepath.Join(dir, "boot"), "health-address": health, "boot-address": free(t),
		"certificates-dir": filepath.Join(dir, "ca", "farrier-bootserver."+namespace+".svc"),
	}))
	last := "nothing"
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		select {
		case <-tick.C:
		case <-manager.ended:
			t.Fatalf("the manager has ended: %s", manager.said())
		case <-bootServer.ended:
			t.Fatalf("the boot server has ended: %s", bootServer.said())
		case <-end:
			t.Fatalf("the boot server is not ready: %s", last)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err.Error()
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		last = response.Status + ": " + string(body)
	}
}
