package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/probe/disk"
)

const (
	// DefaultDuration is the first pause between two attempts.
	DefaultDuration = 5 * time.Second
	// DefaultClientTimeout bounds one request, its body included.
	DefaultClientTimeout = 10 * time.Second

	maxPause = 2 * time.Minute
	// maxReportAge is how old a report may be when it is posted: who receives it
	// judges its time, and links come up late.
	maxReportAge = time.Minute
)

// Hardware is the machine that is looked at.
type Hardware interface {
	Collect(ctx context.Context) (inspection.Report, error)
}

// Config says whom to tell, and how patiently.
type Config struct {
	// RegistryURL is the base that /register and /bootstate are appended to. A
	// boot token is part of its path, so it is never logged.
	RegistryURL string
	// ServerUUID is the SMBIOS UUID that the machine is known by.
	ServerUUID string
	// Duration is the first pause after a refused attempt; later ones grow to
	// two minutes. Zero: DefaultDuration.
	Duration time.Duration
	// ClientTimeout bounds one request. Zero: DefaultClientTimeout.
	ClientTimeout time.Duration
	// Timeout ends all attempts. Zero: only the context does.
	Timeout time.Duration
	// Version is reported as the agent's version.
	Version string
	// Disks are what is wiped when that is ordered. Nil: this agent cannot, and does
	// not claim it can.
	Disks disk.Source

	HTTPClient *http.Client
	Clock      clock.Clock
	Logger     logr.Logger
	// Jitter draws from [0,1). Nil: math/rand.
	Jitter func() float64
}

// RejectedError says that the receiver will never take this message: trying it
// again is of no use.
type RejectedError struct {
	StatusCode int
	Text       string
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("refused for good: HTTP %d: %s", e.StatusCode, e.Text)
}

// Run collects a report and posts it until it is accepted, refused for good, or
// the time is over. Where the answer is an order to clean, the disks are wiped and
// what became of them is reported in the same way. How the disks fared is no error:
// who ordered it knows.
func Run(ctx context.Context, cfg Config, hw Hardware) error {
	p, err := newPoster(cfg)
	if err != nil {
		return err
	}
	mandate, err := p.register(ctx, hw, nil)
	if err != nil || !mandate.Permits() {
		return err
	}
	if p.cfg.Disks == nil {
		p.cfg.Logger.Info("this probe cannot clean as ordered", "mode", mandate.Mode())
		return nil
	}
	records := p.clean(ctx, mandate)
	// An order in this answer is the one that has just been carried out.
	_, err = p.register(ctx, hw, records)
	return err
}

// register reports the machine, with what was done to its disks if records is not nil.
func (p *poster) register(ctx context.Context, hw Hardware, records []inspection.DiskCleanup) (inspection.Mandate, error) {
	var body []byte
	var collected time.Time
	return p.untilAccepted(ctx, "register", func(ctx context.Context) ([]byte, error) {
		if body != nil && p.cfg.Clock.Since(collected) < maxReportAge {
			return body, nil
		}
		report, err := hw.Collect(ctx)
		if err != nil {
			return nil, fmt.Errorf("collect: %w", err)
		}
		collected = p.cfg.Clock.Now()
		report.Timestamp = collected.UTC()
		report.AgentVersion = p.cfg.Version
		report.Cleanup = records
		if p.cfg.Disks != nil {
			report.Capabilities = []inspection.Capability{inspection.CapabilityCleanMetadata, inspection.CapabilityCleanFull}
		}
		body, err = inspection.Encode(p.cfg.ServerUUID, report)
		return body, err
	})
}

// clean carries out an order. That the disks cannot even be listed is a record, too:
// otherwise nobody would ever know.
func (p *poster) clean(ctx context.Context, mandate inspection.Mandate) []inspection.DiskCleanup {
	p.cfg.Logger.Info("cleaning", "mode", mandate.Mode())
	records, err := disk.Clean(ctx, mandate, p.cfg.Disks, disk.Options{Logger: p.cfg.Logger, Clock: p.cfg.Clock})
	if err != nil {
		p.cfg.Logger.Error(err, "no disk was cleaned")
		return []inspection.DiskCleanup{{Method: string(disk.MethodNone), Result: inspection.CleanedFailed, Error: err.Error()}}
	}
	if records == nil {
		records = []inspection.DiskCleanup{} // a machine without disks has been cleaned as well
	}
	return records
}

// BootState reports whether the installed system has booted, until that is
// accepted, refused for good, or the time is over.
func BootState(ctx context.Context, cfg Config, booted bool) error {
	p, err := newPoster(cfg)
	if err != nil {
		return err
	}
	_, err = p.untilAccepted(ctx, "bootstate", func(context.Context) ([]byte, error) {
		return inspection.EncodeBootState(p.cfg.ServerUUID, booted)
	})
	return err
}

func (c Config) withDefaults() (Config, error) {
	u, err := url.Parse(c.RegistryURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// The URL holds a token: neither it nor the parser's error, which
		// repeats it, is shown.
		return c, errors.New("registry URL: want http://host/path or https://host/path")
	}
	c.RegistryURL = strings.TrimRight(c.RegistryURL, "/")
	if c.ServerUUID, err = identity.UUID(c.ServerUUID); err != nil {
		return c, fmt.Errorf("server UUID: %w", err)
	}
	for name, d := range map[string]time.Duration{"duration": c.Duration, "client timeout": c.ClientTimeout, "timeout": c.Timeout} {
		if d < 0 {
			return c, fmt.Errorf("%s: %s is negative", name, d)
		}
	}
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	if c.ClientTimeout == 0 {
		c.ClientTimeout = DefaultClientTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, nil
}
