package system

import "github.com/spf13/pflag"

// Bind binds the options that `farrier up` and `farrier-manager` have in common. Names of the operators that Farrier
// replaces are kept.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for everything that is kept")
	f.StringVar(&o.BootAddress, "boot-address", o.BootAddress, "address of the boot server")
	f.StringVar(&o.MetricsAddress, "metrics-address", "", "address to serve metrics on (default: none)")
	f.StringVar(&o.BootURL, "boot-url", "", "base URL under which machines reach the boot server (default: from its address)")
	f.StringVar(&o.BootURL, "ipxe-service-url", "", "another name of --boot-url")
	f.StringVar(&o.ManagerNamespace, "manager-namespace", o.ManagerNamespace, "namespace for what Farrier keeps for itself")
	f.StringVar(&o.MACPrefixesFile, "mac-prefixes-file", "", "MAC prefix database, YAML")
	f.StringVar(&o.ProbeImage, "probe-os-image", "", "OCI image that is booted to look at a server from inside")
	f.StringVar(&o.DiscoveryIgnitionPath, "discovery-ignition-path", "", "Butane template for the probe image (default: built in)")
	f.DurationVar(&o.DiscoveryTimeout, "discovery-timeout", o.DiscoveryTimeout, "how long a probe may take to report")
	f.IntVar(&o.DiscoveryRetries, "discovery-retries", o.DiscoveryRetries, "how often discovery is tried again before a person is needed")
	f.DurationVar(&o.PowerOffBudget, "power-off-budget", o.PowerOffBudget, "how long an operating system may take to shut down")
	f.BoolVar(&o.EnforcePowerOff, "enforce-power-off", o.EnforcePowerOff, "force a released machine off when its budget is spent")
	f.StringVar(&o.Cleanup, "cleanup", o.Cleanup, "how servers are cleaned that come back: none, metadata or full; claim and server may ask for more")
	f.DurationVar(&o.CleanupTimeout, "cleanup-timeout", o.CleanupTimeout, "how long a probe may take to clean a server")
	f.DurationVar(&o.BMCPollInterval, "bmc-poll-interval", o.BMCPollInterval, "how often an idle BMC is asked")
	f.DurationVar(&o.BMCFastPoll, "bmc-fast-poll", o.BMCFastPoll, "how often a BMC is asked at first while a change of power is awaited")
	f.DurationVar(&o.BMCRequestTimeout, "bmc-request-timeout", o.BMCRequestTimeout, "deadline of a request to a BMC")
	f.DurationVar(&o.BMCIdleTimeout, "bmc-idle-timeout", o.BMCIdleTimeout, "how long an unused connection to a BMC is kept, where something is due within that time")
	f.DurationVar(&o.BMCFailureResetDelay, "bmc-failure-reset-delay", 0, "how long a BMC may fail before it is restarted, over SSH where its make can (default 0: never)")
	f.StringVar(&o.BMCEventsAddress, "bmc-events-address", "", "address that BMCs send events to; port 0 means any free one (default: none, BMCs are polled only)")
	f.StringVar(&o.BMCEventsURL, "bmc-events-url", "", "base URL under which BMCs reach that address (default: from the address)")
	f.StringVar(&o.BMCEventsCertFile, "bmc-events-cert-file", "", "PEM certificate for that address: it speaks TLS (default: plain HTTP)")
	f.StringVar(&o.BMCEventsKeyFile, "bmc-events-key-file", "", "PEM key of the certificate")
	f.BoolVar(&o.InsecureSkipBMCVerify, "insecure-skip-bmc-verify", false, "do not verify the certificates of BMCs")
	f.StringVar(&o.BMCCAFile, "bmc-ca-file", "", "PEM bundle of the authorities that BMC certificates are verified with (default: the system's)")
	f.StringSliceVar(&o.AllowedRegistries, "allowed-registries", o.AllowedRegistries, "registries that images may come from, host or host:port")
	f.StringSliceVar(&o.RegistryMirrors, "registry-mirrors", nil, "registry=mirror: what is asked before a registry, without its credentials")
	f.StringSliceVar(&o.PlainHTTPRegistries, "plain-http-registries", nil, "those of them that are spoken to without TLS")
	f.StringVar(&o.Architecture, "architecture", o.Architecture, "architecture of servers that do not tell theirs")
	f.Int64Var(&o.ImageCacheSize, "image-cache-size", o.ImageCacheSize, "bytes of disk for cached layers")
	f.StringVar(&o.DefaultUKIURL, "default-httpboot-uki-url", "", "UKI for machines that /httpboot does not know")
	f.StringVar(&o.IgnitionAccess, "ignition-access", o.IgnitionAccess, "who may read ignition: token, expected or open")
	f.BoolVar(&o.AllowUnauthenticatedProbe, "allow-unauthenticated-probe", false, "accept probe reports without a token")
	f.StringSliceVar(&o.TrustedForwarders, "trusted-forwarders", nil, "CIDRs whose X-Forwarded-For is believed on /httpboot")
}
