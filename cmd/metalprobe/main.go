// Command metalprobe reports the hardware of the machine it runs on to a boot
// server and ends when the report is accepted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/probe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr, probe.Linux{})
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "metalprobe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer, hw probe.Hardware) error {
	cfg, err := parse(args, stderr)
	if err != nil {
		return err
	}
	cfg.Logger = logr.FromSlogHandler(slog.NewTextHandler(stderr, nil))
	cfg.Version = version()
	return probe.Run(ctx, cfg, hw)
}

func parse(args []string, stderr io.Writer) (probe.Config, error) {
	var cfg probe.Config
	flags := flag.NewFlagSet("metalprobe", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&cfg.RegistryURL, "registry-url", "", "base `URL` of the boot server; /register is appended (required)")
	flags.StringVar(&cfg.ServerUUID, "server-uuid", "", "SMBIOS `UUID` the machine is known by (required)")
	flags.DurationVar(&cfg.Duration, "duration", probe.DefaultDuration, "first pause between two attempts; later ones grow")
	flags.DurationVar(&cfg.ClientTimeout, "registry-client-timeout", probe.DefaultClientTimeout, "longest time for one request")
	flags.DurationVar(&cfg.Timeout, "timeout", 0, "give up after this time; 0: never")
	// Units written for other agents carry these two. They are accepted, so that
	// such a unit works, and have no effect until LLDP is listened to.
	flags.Duration("lldp-sync-interval", 5*time.Second, "accepted; LLDP is not listened to yet")
	flags.Duration("lldp-sync-duration", 30*time.Second, "accepted; LLDP is not listened to yet")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if cfg.RegistryURL == "" {
		return cfg, errors.New("--registry-url is required")
	}
	if cfg.ServerUUID == "" {
		return cfg, errors.New("--server-uuid is required")
	}
	return cfg, nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
