package sim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/farrier-dev/farrier/internal/probe"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// maxIgnition is far above what a kernel command line or a Secret can lead to.
const maxIgnition = 8 << 20

// operatingSystem is an initramfs that fetches what the kernel's command line
// names, and the system that then comes up. A machine on which that fails stays
// on, as a real one does that dropped into an emergency shell.
func (n *network) operatingSystem(ctx context.Context, commandLine string) (Outcome, string) {
	if _, panics := n.machine.bmc.struck(fault.KernelPanic, ""); panics {
		return OutcomeFailed, "kernel panic"
	}
	args := kernelArguments(commandLine)
	if url := args["gl.url"]; url != "" {
		if _, err := n.getPatiently(ctx, WhatSquashfs, url, http.Header{"User-Agent": {"dracut"}}, 0); err != nil {
			return OutcomeFailed, "squashfs: " + err.Error()
		}
	}
	var system installed
	if url := args["ignition.config.url"]; url != "" {
		var err error
		if system, err = n.ignite(ctx, url); err != nil {
			return OutcomeFailed, "ignition: " + err.Error()
		}
	}
	if !n.machine.rack.wait(ctx, n.machine.rack.opts.Timing.OSBoot) {
		return OutcomeFailed, "the operating system did not come up in time"
	}
	if system.probe != nil {
		return n.probe(ctx, *system.probe, system.probeCA)
	}
	if told := args["farrier.bootstate"]; told != "" {
		system.bootState = strings.TrimSuffix(told, "/bootstate")
	}
	return n.install(ctx, system)
}

// bootsFromDisk stands on the first disk where a system has installed itself there, and
// not only left data.
const bootsFromDisk = "boots from disk"

// install leaves a system's traces on the disks. One that was told to say that it has
// booted is one that installs itself: from then on the machine boots from disk.
func (n *network) install(ctx context.Context, system installed) (Outcome, string) {
	note := fmt.Sprintf("of boot %d of %s", n.episode.record.Number, n.machine.uuid)
	if system.bootState != "" {
		note += ", " + bootsFromDisk
	}
	for i, d := range n.machine.Disks() {
		d.install(i == 0, note)
	}
	if system.bootState == "" {
		return OutcomeInstalled, ""
	}
	if err := probe.BootState(ctx, n.agent(system.bootState, n.machine.uuid, 0), true); err != nil {
		return OutcomeInstalled, "bootstate: " + err.Error()
	}
	return OutcomeInstalled, ""
}

// fromDisk is what comes after the network: a system that has installed itself.
func (n *network) fromDisk(ctx context.Context) (Outcome, string) {
	m := n.machine
	superblock := make([]byte, diskBlock)
	_, _ = m.Disks()[0].ReadAt(superblock, partitionOffset)
	if !bytes.Contains(superblock, []byte(bootsFromDisk)) {
		return OutcomeFirmware, "nothing is installed on the disks"
	}
	n.started("")
	if !m.rack.wait(ctx, m.rack.opts.Timing.OSBoot) {
		return OutcomeFailed, "the operating system did not come up in time"
	}
	return OutcomeInstalled, "from disk"
}

// kernelArguments are the name=value words of a command line; the last of a name
// counts.
func kernelArguments(commandLine string) map[string]string {
	args := map[string]string{}
	for _, word := range strings.Fields(commandLine) {
		name, value, _ := strings.Cut(word, "=")
		args[name] = value
	}
	return args
}

func (n *network) ignite(ctx context.Context, url string) (installed, error) {
	body, err := n.getPatiently(ctx, WhatIgnition, url, http.Header{
		"User-Agent": {"Ignition/2.24.0"},
		"Accept":     {"application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1"},
	}, maxIgnition+1)
	if err != nil {
		return installed{}, err
	}
	if len(body) > maxIgnition {
		return installed{}, fmt.Errorf("more than %d bytes", maxIgnition)
	}
	return parseIgnition(body)
}

// probe runs the real agent, which speaks TLS with whom ca has signed, where it is there. What its attempts meet is in the record while it
// goes on trying.
func (n *network) probe(ctx context.Context, agent agentFlags, ca []byte) (Outcome, string) {
	m := n.machine
	if _, silent := m.bmc.struck(fault.SilentProbe, ""); silent {
		return OutcomeFailed, "probe: it hangs"
	}
	cfg := n.agent(agent.registryURL, cmp.Or(agent.serverUUID, m.uuid), agent.duration)
	if ca != nil {
		roots, err := probe.Roots(ca)
		if err != nil {
			return OutcomeFailed, "probe: --registry-ca-file: " + err.Error()
		}
		pinned := m.transport(roots)
		defer pinned.CloseIdleConnections()
		cfg.HTTPClient = &http.Client{Transport: &registerRecorder{n, pinned}}
	}
	if _, old := m.bmc.struck(fault.OldProbe, ""); !old {
		cfg.Disks = agentDisks{m, n.episode.ctx}
	}
	if err := probe.Run(ctx, cfg, agentHardware{m}); err != nil {
		return OutcomeFailed, "probe: " + err.Error()
	}
	return OutcomeProbe, ""
}

func (n *network) agent(url, uuid string, pause time.Duration) probe.Config {
	m := n.machine
	return probe.Config{
		RegistryURL: url,
		ServerUUID:  uuid,
		Duration:    pause,
		Timeout:     m.rack.opts.BootTimeout,
		Version:     "simulated",
		HTTPClient:  &http.Client{Transport: &registerRecorder{n, n.client.Transport}},
		Clock:       m.rack.opts.Clock,
		Logger:      m.log().V(2),
	}
}

// registerRecorder puts each message that the agent sends into the boot record.
type registerRecorder struct {
	*network
	transport http.RoundTripper
}

func (t *registerRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	clock := t.machine.rack.opts.Clock
	f := Fetch{URL: req.URL.String(), What: WhatRegister, Start: clock.Now()}
	if strings.HasSuffix(req.URL.Path, "/bootstate") {
		f.What = WhatBootState
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(body)
	f.Bytes, f.SHA256 = int64(len(body)), hex.EncodeToString(digest[:])
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))

	resp, err := t.transport.RoundTrip(sent)
	f.End = clock.Now()
	switch {
	case err != nil:
		f.Error = err.Error()
	case resp.StatusCode/100 != 2:
		f.Status, f.Error = resp.StatusCode, fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	default:
		f.Status = resp.StatusCode
	}
	t.machine.note(t.episode, func(r *BootRecord) {
		r.addFetch(f)
		if f.Error != "" && r.Outcome == "" {
			r.Why = "probe: " + f.Error
		}
	})
	return resp, err
}

var errNoProbe = errors.New("metalprobe is started without --registry-url")
