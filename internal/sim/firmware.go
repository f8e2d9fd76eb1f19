package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/internal/sim/ipxe"
)

// maxScript bounds the scripts a machine reads; iPXE itself has less memory.
const maxScript = 1 << 20

// run is one episode: the power-on self test, a boot, and what comes of it. It
// returns when the machine has nothing more to do but be on.
func (m *Machine) run(e *episode) {
	if !m.rack.wait(e.ctx, m.selfTest()) {
		return
	}
	if !m.posted(e) {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, m.rack.opts.BootTimeout)
	defer cancel()
	n := m.network(e)
	defer n.close()
	outcome, why := n.bootSequence(ctx, e.record.Boot)
	m.settle(e, outcome, why)
}

// posted ends the self test. An override for one boot is used up here, whatever
// comes of the boot.
func (m *Machine) posted(e *episode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.episode != e {
		return false
	}
	m.power = PowerOn
	m.tellPowerLocked()
	m.useOverrideLocked(e)
	return true
}

// useOverrideLocked is the boot override of the boot that begins.
func (m *Machine) useOverrideLocked(e *episode) BootOverride {
	e.record.POST = m.rack.opts.Clock.Now()
	e.record.Boot = m.override
	if _, ignored := m.bmc.struck(fault.OverrideIgnored, ""); ignored {
		e.record.Boot.Enabled, e.record.Boot.Target = overrideDisabled, BootNone
	}
	m.changedLocked()
	if m.override.Enabled == overrideOnce {
		m.override.Enabled, m.override.Target = overrideDisabled, BootNone
	}
	return e.record.Boot
}

// boot follows the boot source override, and goes to disk without one.
func (n *network) boot(ctx context.Context, override BootOverride) (Outcome, string) {
	for _, way := range ways {
		if override.Enabled != overrideDisabled && way.target == override.Target && way.boot != nil {
			return way.boot(n, ctx, override)
		}
	}
	return n.fromDisk(ctx)
}

// setup waits for a person at the firmware's own menu.
func (n *network) setup(context.Context, BootOverride) (Outcome, string) {
	n.atPrompt = true
	return OutcomeFirmware, "in the firmware setup"
}

// bootPXE is iPXE with what DHCP told it.
func (n *network) bootPXE(ctx context.Context, _ BootOverride) (Outcome, string) {
	bootURL := n.machine.rack.opts.BootURL
	if bootURL == nil || bootURL() == "" {
		return OutcomeFailed, "DHCP told no boot URL"
	}
	result, err := ipxe.Run(ctx, ipxe.Options{
		Fetcher:  &scriptFetcher{network: n},
		Clock:    n.machine.rack.opts.Clock,
		Settings: n.machine.settings(),
		Console: func(line string) {
			n.machine.note(n.episode, func(r *BootRecord) { r.addConsole(line) })
		},
		MaxTime: n.machine.rack.opts.BootTimeout,
	}, bootURL())
	if err != nil {
		return OutcomeFailed, "iPXE: " + err.Error()
	}
	switch result.Outcome {
	case ipxe.Booted:
		return n.startKernel(ctx, result.Kernel.Args)
	case ipxe.Exited, ipxe.Disk:
		return n.fromDisk(ctx)
	default:
		n.atPrompt = true
		return OutcomeFirmware, fmt.Sprintf("the boot script ended with %s", result.Outcome)
	}
}

// bootHTTP is UEFI HTTP boot (UEFI 2.10 §24.7) of a URI that the BMC was told.
// Firmware does not follow redirects.
func (n *network) bootHTTP(ctx context.Context, override BootOverride) (Outcome, string) {
	if override.HTTPURI == "" {
		return OutcomeFailed, "UEFI HTTP boot: the BMC was told no URI"
	}
	n.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	_, err := n.get(ctx, WhatUKI, override.HTTPURI, http.Header{"User-Agent": {"UefiHttpBoot/1.0"}}, 0)
	n.client.CheckRedirect = nil
	if err != nil {
		return OutcomeFailed, "UEFI HTTP boot: " + err.Error()
	}
	// The command line of a unified kernel image is inside it.
	return n.startKernel(ctx, "")
}

func (n *network) startKernel(ctx context.Context, commandLine string) (Outcome, string) {
	n.started(commandLine)
	return n.operatingSystem(ctx, commandLine)
}

// started says that from now on an operating system hears the power button.
func (n *network) started(commandLine string) {
	m := n.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	n.episode.record.Kernel = m.rack.opts.Clock.Now()
	n.episode.record.CommandLine = commandLine
	n.episode.osRuns = true
	m.changedLocked()
}

// scriptFetcher is iPXE's HTTP client.
type scriptFetcher struct {
	*network
	scripts int
}

func (f *scriptFetcher) Fetch(ctx context.Context, source string, role ipxe.Role) (ipxe.File, error) {
	what, keep := WhatKernel, 0
	switch role {
	case ipxe.RoleInitrd:
		what = WhatInitramfs
	case ipxe.RoleFile:
		what = WhatFile
	case ipxe.RoleScript:
		// The first script is the one that DHCP named.
		what, keep = WhatScript, maxScript
		if f.scripts == 0 {
			what = WhatChainload
		}
	}
	head, err := f.get(ctx, what, source, http.Header{"User-Agent": {"iPXE/1.21.1"}}, keep)
	if err != nil {
		return ipxe.File{}, err
	}
	if role != ipxe.RoleScript {
		return ipxe.File{}, nil
	}
	f.scripts++
	if !ipxe.IsScript(head) {
		return ipxe.File{}, nil
	}
	return ipxe.File{Script: head}, nil
}

// settings is what iPXE knows of the machine it runs on.
func (m *Machine) settings() ipxe.Settings {
	mac := ipxe.MAC(octetsOf(m.portMAC(0)))
	s := ipxe.Settings{
		"uuid": ipxe.UUID(uuidOctets(m.uuid)), "serial": ipxe.String(m.serial), "manufacturer": ipxe.String(m.bmc.quirks.manufacturer),
		"product": ipxe.String(m.name), "asset": ipxe.String(m.serial), "buildarch": ipxe.String("x86_64"),
		"platform": ipxe.String("efi"), "version": ipxe.String("1.21.1"), "hostname": ipxe.String(m.serial),
		"mac": mac, "netX/mac": mac, "ip": ipxe.IPv4(m.ip), "net0/ip": ipxe.IPv4(m.ip), "netX/ip": ipxe.IPv4(m.ip),
	}
	for port := range m.ports {
		s[fmt.Sprintf("net%d/mac", port)] = ipxe.MAC(octetsOf(m.portMAC(port)))
	}
	if host, err := bootHost(m.rack.opts.BootURL); err == nil {
		s["next-server"], s["dhcp-server"] = ipxe.IPv4(host), ipxe.IPv4(host)
	}
	return s
}

func bootHost(bootURL func() string) (netip.Addr, error) {
	u, err := url.Parse(bootURL())
	if err != nil {
		return netip.Addr{}, err
	}
	return netip.ParseAddr(u.Hostname())
}

func withoutURL(err error) error {
	var urlErr *url.Error
	if !errors.As(err, &urlErr) {
		return err
	}
	var opErr *net.OpError
	if errors.As(err, &opErr) {
		return opErr
	}
	return urlErr.Err
}
