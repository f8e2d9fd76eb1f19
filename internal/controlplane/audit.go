package controlplane

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apiserver/pkg/audit/policy"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
)

const (
	auditDir  = "audit"
	auditFile = "audit.log"
	// auditPolicyFile is where the policy of this version is written on each start, to be read and copied.
	auditPolicyFile = "policy.yaml"

	// auditLineLimit keeps a log that can hold the longest event: the address of a request is at most what a header may be, 1 MiB.
	auditLineLimit = 2
)

// defaultAuditPolicy records who changed what and who read secrets, without what was in them.
//
//go:embed auditpolicy.yaml
var defaultAuditPolicy []byte

// Audit says what is recorded of requests to the API, and for how long.
type Audit struct {
	// Disabled records nothing.
	Disabled bool
	// PolicyFile is a Policy of audit.k8s.io/v1; empty: that of auditpolicy.yaml.
	PolicyFile string
	// MaxSize is how many MiB a file may have before the next is begun, MaxBackups how many former ones are kept, and MaxAge for
	// how many days. All have to be set: a log without an end fills the disk that the store is on.
	MaxSize, MaxBackups, MaxAge int
}

// DefaultAudit keeps a month, in 120 MiB at most.
func DefaultAudit() Audit { return Audit{MaxSize: 20, MaxBackups: 5, MaxAge: 30} }

func (a *Audit) check() error {
	if *a == (Audit{}) {
		*a = DefaultAudit()
	}
	if a.Disabled && a.PolicyFile != "" {
		return errors.New("--audit-policy-file: has no effect with --audit-log=false")
	}
	if a.Disabled {
		return nil
	}
	var errs []error
	refuse := func(flag string, value, least int) {
		if value < least {
			errs = append(errs, fmt.Errorf("--%s: %d is less than %d", flag, value, least))
		}
	}
	refuse("audit-log-max-size", a.MaxSize, auditLineLimit)
	refuse("audit-log-max-backups", a.MaxBackups, 1)
	refuse("audit-log-max-age", a.MaxAge, 1)
	return errors.Join(errs...)
}

// auditOptions have the API server write its log below the directory. A line is written before the request it is about is answered, so
// that a crash loses none; one that cannot be written holds nothing up.
func auditOptions(opts *genericoptions.AuditOptions, a Audit, dir string) error {
	if a.Disabled {
		return nil
	}
	written := filepath.Join(dir, auditPolicyFile)
	if err := datadir.WriteFile(written, defaultAuditPolicy); err != nil {
		return fmt.Errorf("audit policy: %w", err)
	}
	opts.PolicyFile = a.PolicyFile
	if opts.PolicyFile == "" {
		opts.PolicyFile = written
	}
	if _, err := policy.LoadPolicyFromFile(opts.PolicyFile); err != nil {
		return fmt.Errorf("--audit-policy-file: %w", err)
	}
	opts.LogOptions.Path = filepath.Join(dir, auditFile)
	opts.LogOptions.MaxSize, opts.LogOptions.MaxBackups, opts.LogOptions.MaxAge = a.MaxSize, a.MaxBackups, a.MaxAge
	opts.LogOptions.BatchOptions.Mode = genericoptions.ModeBlocking
	return nil
}
