package vm

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is QEMU, with a TPM beside it where the machine has one.
type process struct {
	monitor net.Conn
	stderr  *lastLine
	end     <-chan error
	kill    context.CancelFunc
	tpm     <-chan error // nil: there is none
}

// launch starts QEMU. It runs until ctx ends at the latest, and dies with this process.
func (m *Machine) launch(ctx context.Context, p plan, variables string, serial io.Writer) (*process, error) {
	ctx, cancel := context.WithCancel(ctx)
	run := &process{stderr: &lastLine{}, kill: cancel}
	ours, theirs, err := socketPair()
	if err != nil {
		cancel()
		return nil, err
	}
	run.monitor = ours
	files := []*os.File{theirs}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if m.kind.TPM {
		socket, err := run.startTPM(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("TPM: %w", run.died(ctx, err))
		}
		files = append(files, socket)
	}
	cmd := exec.CommandContext(ctx, qemu, m.arguments(p, variables)...)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = files, serial, run.stderr
	if run.end, err = m.start(cmd); err != nil {
		return nil, run.died(ctx, err)
	}
	return run, nil
}

// startTPM starts the emulator of a TPM, and returns the socket by which QEMU speaks with it.
func (p *process) startTPM(ctx context.Context, m *Machine) (*os.File, error) {
	if err := os.MkdirAll(m.tpmDir(), 0o700); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "tpm"), os.NewFile(uintptr(pair[1]), "tpm")
	defer func() { _ = theirs.Close() }()
	cmd := exec.CommandContext(ctx, swtpm, "socket", "--tpm2", "--tpmstate", "dir="+m.tpmDir(), "--ctrl", fmt.Sprintf("type=unixio,clientfd=%d", 3))
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, p.stderr
	if p.tpm, err = m.start(cmd); err != nil {
		_ = ours.Close()
		return nil, err
	}
	return ours, nil
}

// start has the kernel kill the program when this process ends.
func (m *Machine) start(cmd *exec.Cmd) (<-chan error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return m.in.start(cmd)
}

// wait waits until nothing of it runs any more. QEMU has ended, or is about to.
func (p *process) wait() error {
	var err error
	if p.end != nil {
		err = <-p.end
	}
	p.kill() // the TPM stays otherwise
	if p.tpm != nil {
		<-p.tpm
	}
	_ = p.monitor.Close()
	return err
}

// died ends what is left of it, and says what it said last.
func (p *process) died(ctx context.Context, err error) error {
	p.kill()
	_ = p.wait()
	if said := strings.TrimSpace(p.stderr.String()); said != "" && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// socketPair is a connection between this process and one that it starts.
func socketPair() (net.Conn, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "qmp"), os.NewFile(uintptr(pair[1]), "qmp")
	conn, err := net.FileConn(ours) // a copy
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}
