package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/probe"
	"github.com/farrier-dev/farrier/internal/probe/disk"
	"github.com/farrier-dev/farrier/internal/probe/pid1"
	"github.com/farrier-dev/farrier/internal/program/version"
)

// Main runs the command of this process and returns its exit status.
func Main() int {
	switch {
	case pid1.Is():
		pid1.Supervise()
	case os.Args[0] == pid1.DiscoverName:
		return pid1.Discover()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, thisMachine)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "metalprobe:", err)
		return 1
	}
	return 0
}

// machine is what the agent looks at and wipes.
type machine interface {
	probe.Hardware
	disk.Source
	SystemUUID() string
}

func thisMachine(l *probe.Listener) machine { return probe.Linux{LLDP: l} }

func run(ctx context.Context, args []string, stdout, stderr io.Writer, open func(*probe.Listener) machine) error {
	o := options{lldp: &probe.Listener{}}
	m := open(o.lldp)
	if err := o.parse(args, stderr, m.SystemUUID); err != nil {
		return err
	}
	if o.version {
		_, err := fmt.Fprintln(stdout, "metalprobe "+version.Of().String())
		return err
	}
	if o.dryRun != "" {
		return dryRun(ctx, stdout, m, inspection.CleanMode(o.dryRun))
	}
	o.Logger = logr.FromSlogHandler(slog.NewTextHandler(stderr, nil))
	o.lldp.Logger = o.Logger
	o.Version = version.String()
	o.Disks = m
	return probe.Run(ctx, o.Config, m)
}

// options are the flags.
type options struct {
	probe.Config
	lldp    *probe.Listener
	dryRun  dryRunMode
	version bool
	caFile  string // the authorities of the boot server; empty: those of the system
}

func (o *options) parse(args []string, stderr io.Writer, own func() string) error {
	flags := o.flags()
	flags.SetOutput(io.Discard) // an error is told once, by main
	flags.Usage = func() {}     // help is for whoever asks for it
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			fmt.Fprintln(stderr, "Usage of metalprobe:")
			flags.PrintDefaults()
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o.check(own)
}

// Flags are those of metalprobe, for whoever writes them down.
func Flags() *flag.FlagSet { return (&options{lldp: &probe.Listener{}}).flags() }

func (o *options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("metalprobe", flag.ContinueOnError)
	flags.StringVar(&o.RegistryURL, "registry-url", "", "base `URL` of the boot server, without /register (required)")
	flags.StringVar(&o.caFile, "registry-ca-file", "", "PEM `file` of the only authorities that verify the boot server (default: the authorities of the system)")
	flags.StringVar(&o.ServerUUID, "server-uuid", "", "SMBIOS `UUID` of the machine (default: the one that the machine reports)")
	flags.DurationVar(&o.Duration, "duration", probe.DefaultDuration, "pause before the second attempt to send a report; later pauses grow")
	flags.DurationVar(&o.ClientTimeout, "registry-client-timeout", probe.DefaultClientTimeout, "how long one request may take")
	flags.DurationVar(&o.Timeout, "timeout", 0, "how long to try to send a report; 0: without end")
	flags.DurationVar(&o.lldp.Interval, "lldp-sync-interval", probe.DefaultLLDPInterval, "interval of the search for links that have come up while listening for LLDP")
	flags.DurationVar(&o.lldp.Duration, "lldp-sync-duration", probe.DefaultLLDPDuration, "how long to listen for LLDP before the first report; 0: not at all")
	flags.Var(&o.dryRun, "dry-run", "print how each disk would be wiped and wipe nothing; -dry-run=metadata plans --cleanup=metadata (default: full)")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	return flags
}

func (o *options) check(own func() string) error {
	switch {
	case o.lldp.Interval < 0:
		return fmt.Errorf("--lldp-sync-interval: %s is negative", o.lldp.Interval)
	case o.lldp.Duration < 0:
		return fmt.Errorf("--lldp-sync-duration: %s is negative", o.lldp.Duration)
	case o.lldp.Duration == 0:
		o.lldp.Duration = -1 // to a Listener zero is its default
	}
	if o.version || o.dryRun != "" {
		return nil
	}
	if o.RegistryURL == "" {
		return errors.New("--registry-url is required")
	}
	if o.ServerUUID = cmp.Or(o.ServerUUID, own()); o.ServerUUID == "" {
		return errors.New("--server-uuid is required: the machine tells none itself")
	}
	return o.trust()
}

// caFileLimit is room for more authorities than anybody has.
const caFileLimit = 1 << 20

// trust makes the client of whoever names the authorities of the boot server. Those are given for an https URL: over plain HTTP
// they would be of no use, and whoever gave them believes that they are.
func (o *options) trust() error {
	if o.caFile == "" {
		return nil
	}
	if !strings.HasPrefix(strings.ToLower(o.RegistryURL), "https://") {
		return errors.New("--registry-url: is not https, and --registry-ca-file says whom to verify the boot server with")
	}
	f, err := os.Open(o.caFile)
	if err != nil {
		return fmt.Errorf("--registry-ca-file: %w", err)
	}
	defer func() { _ = f.Close() }()
	authorities, err := io.ReadAll(io.LimitReader(f, caFileLimit))
	if err == nil {
		o.HTTPClient, err = probe.Trusting(authorities)
	}
	if err != nil {
		return fmt.Errorf("--registry-ca-file: %s: %w", o.caFile, err)
	}
	return nil
}

// dryRunMode is a flag that may stand without a value.
type dryRunMode inspection.CleanMode

func (m *dryRunMode) String() string   { return string(*m) }
func (m *dryRunMode) IsBoolFlag() bool { return true }

func (m *dryRunMode) Set(s string) error {
	if s == "true" {
		s = string(inspection.CleanFull)
	}
	if mode := inspection.CleanMode(s); mode != inspection.CleanFull && mode != inspection.CleanMetadata {
		return fmt.Errorf("want %s or %s", inspection.CleanFull, inspection.CleanMetadata)
	}
	*m = dryRunMode(s)
	return nil
}

// dryRun prints what an order to clean would lead to.
func dryRun(ctx context.Context, out io.Writer, src disk.Source, mode inspection.CleanMode) error {
	intents, err := disk.Survey(ctx, src, mode)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "DISK\tSIZE\tSERIAL\tWOULD BE\tNOTE")
	for _, i := range intents {
		var methods []string
		for _, m := range i.Methods {
			methods = append(methods, string(m))
		}
		would, note := "wiped: "+strings.Join(methods, ", else "), strings.Join(i.Notes, "; ")
		switch {
		case i.Exempt != "":
			would, note = "left alone", i.Exempt
		case i.Err != nil:
			would, note = "failed", i.Err.Error()
		}
		_, _ = fmt.Fprintf(w, "%s\t%.1f GB\t%s\t%s\t%s\n", i.Disk.Path, float64(i.Disk.SizeBytes)/1e9, cmp.Or(i.Disk.Serial, "-"), would, cmp.Or(note, "-"))
	}
	return w.Flush()
}
