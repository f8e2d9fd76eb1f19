//go:build linux

package pid1

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"github.com/farrier-dev/farrier/internal/probe"
	"github.com/farrier-dev/farrier/internal/program/logging"
	"github.com/farrier-dev/farrier/internal/program/version"
)

const (
	// bootCAFile holds the authorities of the boot server, where the image has been built with some.
	bootCAFile = "/etc/farrier/boot-ca.crt"

	// Pauses between attempts to find out where to report, and to report.
	leastTry, mostTry = time.Second, 30 * time.Second

	// driverWait is how often devices are looked for that have appeared.
	driverWait = 250 * time.Millisecond
)

// Discover is the second process. It returns its exit status.
func Discover() int {
	logger := logr.FromSlogHandler(logging.NewHandler(os.Stdout, slog.LevelInfo))
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		logger.Error(err, "kernel command line not read")
	}
	s, problems := readSettings(string(line))
	for _, problem := range problems {
		logger.Error(problem, "setting ignored")
	}
	m := machineID{uuid: probe.Linux{}.SystemUUID(), serial: attribute("product_serial")}
	logger.Info("metalprobe looks at this machine for Farrier", "version", version.String(), "model", strings.TrimSpace(attribute("sys_vendor")+" "+attribute("product_name")),
		"serial", m.serial, "systemUUID", m.uuid)

	ctx := context.Background() // until the machine goes off
	drivers := make(chan struct{})
	go keepDrivers(ctx, logger, drivers)
	go obeyPowerButton(ctx, logger)
	links := newNetwork(logger, s.bootURL == "" && s.registryURL == "" && s.ignitionURL == "")
	go links.run(ctx)
	<-drivers
	d := discovery{settings: s, logger: logger, links: links, id: m, listener: &probe.Listener{Duration: s.lldp, Logger: logger}}
	if s.lldp == 0 {
		d.listener.Duration = -1 // to a Listener zero is its default
	}
	d.untilReported(ctx)
	return d.finish(ctx)
}

// obeyPowerButton switches the machine off when somebody presses its power button. A wipe that this interrupts is done again at the next boot.
func obeyPowerButton(ctx context.Context, logger logr.Logger) {
	if err := awaitPowerButton(ctx); err != nil {
		logger.Error(err, "power button not heard")
		return
	}
	logger.Info("power button pressed")
	os.Exit(exitPowerOff)
}

// attribute is one of SMBIOS that the kernel shows.
func attribute(name string) string {
	text, err := os.ReadFile("/sys/class/dmi/id/" + name)
	if err != nil {
		return ""
	}
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return string(text)
}

// keepDrivers loads drivers for what is there and for what appears. settled is closed when nothing has appeared for a while.
func keepDrivers(ctx context.Context, logger logr.Logger, settled chan<- struct{}) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		logger.Error(err, "kernel version not known")
	}
	l := newLoader(filepath.Join("/lib/modules", unix.ByteSliceToString(name.Release[:])))
	still, told, count, seen := newStillness(time.Now()), false, 0, ""
	for ctx.Err() == nil {
		events, news := kernelEvents(), false
		if events == "" || events != seen { // to look through all devices takes a large machine a while
			seen = events
			loaded, failed := l.forDevices(func() []string { return modaliases("/sys/devices") })
			for file, err := range failed {
				logger.Error(err, "driver not loaded", "file", file)
			}
			count, news = count+len(loaded), len(loaded) > 0
		}
		if !told && still.look(time.Now(), news, events) {
			logger.Info("drivers loaded", "count", count)
			close(settled)
			told = true
		}
		sleep(ctx, driverWait)
	}
}

// discovery is the state of one machine's report.
type discovery struct {
	settings settings
	logger   logr.Logger
	links    *network
	id       machineID
	listener *probe.Listener
}

// untilReported tries for ever. A token may be spent, a boot server away, and a person at the rack reads why.
func (d *discovery) untilReported(ctx context.Context) {
	for pause := leastTry; ; pause = min(2*pause, mostTry) {
		err := d.once(ctx)
		if err == nil {
			return
		}
		d.logger.Info("not reported yet, trying again", "error", err, "retryAfter", pause.String())
		sleep(ctx, pause)
	}
}

// once finds out where to report, and reports. A panic of what looks at odd hardware is an error like others.
func (d *discovery) once(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the agent panicked: %v", r)
		}
	}()
	client, err := d.client()
	if err != nil {
		return err
	}
	d.id.macs = macs()
	at, err := locator{d.settings, client}.locate(ctx, d.id, d.links.offered())
	if err != nil {
		return err
	}
	d.logger.Info("reporting", "systemUUID", at.serverUUID)
	machine := probe.Linux{LLDP: d.listener, Settle: d.links.settle}
	return probe.Run(ctx, probe.Config{
		RegistryURL: at.registryURL, ServerUUID: at.serverUUID, Version: version.String(), Disks: machine, HTTPClient: client, Logger: d.logger,
		Timeout: giveUp,
	}, machine)
}

// giveUp is after how long a destination is looked for anew.
const giveUp = 10 * time.Minute

func (d *discovery) client() (*http.Client, error) {
	authorities, err := os.ReadFile(bootCAFile)
	if errors.Is(err, fs.ErrNotExist) {
		return http.DefaultClient, nil
	}
	if err != nil {
		return nil, fmt.Errorf("authorities of the boot server: %w", err)
	}
	return probe.Trusting(authorities)
}

// macs are the links' addresses, those with a partner first: the machine is known by them where its UUID is not.
func macs() []string {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var with, without []string
	for _, link := range links {
		switch {
		case !isNetwork(link):
		case hasCarrier(link.Name):
			with = append(with, link.HardwareAddr.String())
		default:
			without = append(without, link.HardwareAddr.String())
		}
	}
	return append(with, without...)
}

// finish ends the machine as ordered.
func (d *discovery) finish(ctx context.Context) int {
	switch d.settings.end {
	case endPowerOff:
		return exitPowerOff
	case endReboot:
		return exitReboot
	}
	d.logger.Info("done: this machine waits until its BMC switches it off")
	<-ctx.Done()
	return 0
}
