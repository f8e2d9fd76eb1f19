package standalone

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	"github.com/farrier-dev/farrier/internal/sim/vm"
	"github.com/farrier-dev/farrier/internal/system"
)

// Options is everything that can be said about a system with an API of its own. Fields are named after the flags of
// `farrier up`; errors name those.
type Options struct {
	system.Options
	// Kubeconfig is where the administrator's kubeconfig is written; empty: in the data directory. AdminValidity is how long the
	// certificate beside it is valid, which is renewed at half of that time.
	Kubeconfig    string
	AdminValidity time.Duration
	// AuditLog records requests to the API in the data directory, by AuditPolicyFile or a policy of our own, in AuditLogMaxBackups
	// files of AuditLogMaxSize MiB and for AuditLogMaxAge days beside the one that is written.
	AuditLog                                            bool
	AuditPolicyFile                                     string
	AuditLogMaxSize, AuditLogMaxBackups, AuditLogMaxAge int
	// APIAddress is host:port; port 0 means any free one.
	APIAddress string

	// DiscoveryRoot is the folder of a system, or of an unpacked kernel package, of whose newest kernel the discovery image is built, or one of
	// DiscoveryAuto and DiscoveryNone.
	DiscoveryRoot string

	// Sim is the number of servers in a simulated rack; 0: there is none.
	Sim        int
	SimAddress string
	// RegistryAddress is where a registry is served, of the rack or of the discovery image; empty: for a rack at rackRegistry, for an image nowhere.
	RegistryAddress string
	SimTiming       sim.Timing
	// SimVendor, SimFaultsFile and SimAdminAddress say whose ways the simulated BMCs have, what is
	// wrong with them, and where that is changed while they run.
	SimVendor, SimFaultsFile, SimAdminAddress string
	// VM is what is said of machines that are virtual and not simulated.
	VM VMOptions
	// SimWithoutEndpoints leaves the Endpoints of the rack to the caller.
	SimWithoutEndpoints bool
}

// DefaultOptions are those of `farrier up` without flags.
func DefaultOptions() Options {
	inner := system.DefaultOptions()
	inner.OperatorAddress = "127.0.0.1:0" // found by its ConfigMap, so any port does
	audit := controlplane.DefaultAudit()
	return Options{
		Options:         inner,
		APIAddress:      "127.0.0.1:6443",
		AdminValidity:   kubeconfig.MaxValidity,
		AuditLog:        true,
		AuditLogMaxSize: audit.MaxSize, AuditLogMaxBackups: audit.MaxBackups, AuditLogMaxAge: audit.MaxAge,
		SimAddress:    "0.0.0.0:8000",
		SimVendor:     string(sim.Standard),
		VM:            defaultVM(),
		DiscoveryRoot: DiscoveryAuto,
	}
}

// rackRegistry is where the registry of a simulated rack is.
const rackRegistry = "127.0.0.1:5000"

// Rack reports whether there is a rack, of machines that are simulated or virtual.
func (o Options) Rack() bool { return o.Sim > 0 || o.VM.Machines > 0 }

// audit is what the control plane is told to record.
func (o Options) audit() controlplane.Audit {
	return controlplane.Audit{
		Disabled: !o.AuditLog, PolicyFile: o.AuditPolicyFile, MaxSize: o.AuditLogMaxSize, MaxBackups: o.AuditLogMaxBackups, MaxAge: o.AuditLogMaxAge,
	}
}

// rackSettings are what options say of the simulated rack, after they were checked.
type rackSettings struct {
	vendors []sim.Vendor
	faults  []fault.Spec
	vm      *vm.Settings // nil: machines are simulated
}

// check reads what options name and refuses what cannot work, before anything is started.
func (o Options) check() (rackSettings, error) {
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	for flag, address := range map[string]string{"api-address": o.APIAddress, "sim-address": o.SimAddress, "registry-address": o.RegistryAddress} {
		if flag == "registry-address" && address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			refuse(flag, err)
		}
	}
	if err := o.checkDiscovery(); err != nil {
		refuse("discovery-root", err)
	}
	if o.Sim < 0 || o.Sim > 60000 {
		refuse("sim", fmt.Errorf("%d is out of range 0 to 60000", o.Sim))
	}
	var s rackSettings
	var err error
	if s.vendors, err = sim.ParseVendors(o.SimVendor); err != nil {
		refuse("sim-vendor", err)
	}
	if o.SimFaultsFile != "" {
		if s.faults, err = fault.Load(o.SimFaultsFile); err != nil {
			refuse("sim-faults", err)
		}
	}
	if s.vm, err = o.vmSettings(); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}
