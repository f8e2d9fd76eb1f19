package vm

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/farrier-dev/farrier/internal/host/atomicfile"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/vm/nvram"
)

// Interface is the network interface of this host that leads to the machines.
const Interface = "farrier-vm"

// Rack is what machines have in common: their network.
type Rack struct {
	settings Settings
	network  *network
}

// Open makes the network of the machines and their files. Settings have been checked.
func Open(s Settings) (*Rack, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	n, err := openNetwork(s.Network, s.Machines)
	if err != nil {
		return nil, fmt.Errorf("network of the machines: %w", err)
	}
	return &Rack{settings: s, network: n}, nil
}

// Close removes the network. No machine may be on any more.
func (r *Rack) Close() error {
	if err := r.network.close(); err != nil {
		return fmt.Errorf("network of the machines: %w", err)
	}
	return nil
}

// Computers are the machines, for a rack to switch on.
func (r *Rack) Computers() *sim.Computers {
	return &sim.Computers{MemoryMiB: r.settings.MemoryMiB, Disks: r.settings.Disks, New: r.New}
}

// New makes the machine behind a BMC.
func (r *Rack) New(c sim.Chassis) sim.Computer {
	kind := r.settings.Kinds[c.Index%len(r.settings.Kinds)]
	return &Machine{
		spec: spec{Chassis: c, kind: kind, tap: tapName(c.Index), dir: filepath.Join(r.settings.Dir, c.Name)},
		in:   r.network, logger: r.settings.Logger.WithValues("name", c.Name),
	}
}

func tapName(index int) string { return fmt.Sprintf("tap%d", index) }

// prepare makes the files that a machine does not have yet.
func (s spec) prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	for i, d := range s.Disks {
		if err := sparse(s.disk(i), d.Bytes); err != nil {
			return err
		}
	}
	if !s.kind.Firmware.uefi() {
		return nil
	}
	if _, err := os.Stat(s.variables()); err == nil {
		return nil
	}
	return copyFile(s.factoryVariables(), s.variables())
}

func (s spec) factoryVariables() string {
	if s.kind.Firmware == SecureBoot {
		return secureVars
	}
	return ovmfVars
}

// variablesFor is the file of the firmware's variables for one start. Where the BMC names what to boot, that is a boot option in a copy: the next start knows
// nothing of it.
func (s spec) variablesFor(p plan) (string, error) {
	if !p.uefi || p.uri == "" {
		return s.variables(), nil
	}
	content, err := os.ReadFile(s.variables())
	if err != nil {
		return "", err
	}
	if err := (nvram.Variables{BootURL: p.uri}).WriteTo(content); err != nil {
		return "", fmt.Errorf("%s: %w", s.variables(), err)
	}
	once := filepath.Join(s.dir, "nvram-once.fd")
	return once, os.WriteFile(once, content, 0o600)
}

// sparse makes a disk of that size. One that is there grows, and keeps what is on it.
func sparse(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > size {
		return fmt.Errorf("disk %s has %d bytes, which is more than the %d that are asked for; delete it to begin with an empty one", path, info.Size(), size)
	}
	return file.Truncate(size)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return atomicfile.Write(to, content, 0o600) // half a file must not be taken for one at the next start
}
