package system

import (
	"strings"

	"github.com/spf13/pflag"
)

// repeated is a flag that may be given several times, also under several names: each adds a value.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, " ") }
func (r *repeated) Type() string   { return "string" }
func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// Bind binds the options that `farrier up` and `farrier-manager` have in common. Names of the operators that Farrier
// replaces are kept.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for everything that is kept")
	f.StringVar(&o.BootAddress, "boot-address", o.BootAddress, "address of the boot server, plain HTTP; empty: none, beside --boot-tls-address")
	f.StringVar(&o.BootTLSAddress, "boot-tls-address", "", "address of the boot server, HTTPS; port 0 means any free one (default: none)")
	f.StringSliceVar(&o.BootTLSNames, "boot-tls-names", nil, "IP addresses and DNS names that its certificate is for, beside the hosts of https boot URLs and its own address")
	f.StringVar(&o.BootTLSCertFile, "boot-tls-cert-file", "", "PEM certificate for that address, with its chain, read again when it changes (default: one that is made by an authority in the Secret farrier-boot-ca)")
	f.StringVar(&o.BootTLSKeyFile, "boot-tls-key-file", "", "PEM key of the certificate, which others than its owner and group must not be able to read")
	f.StringVar(&o.BootTLSCAFile, "boot-tls-ca-file", "", "PEM bundle of the authorities of that certificate, for machines to verify it with; also where a proxy speaks TLS (default: those that machines trust already)")
	f.BoolVar(&o.BootTLSForwardSecrecy, "boot-tls-forward-secrecy", false, "refuse TLS without forward secrecy: UEFI firmware without elliptic curves and iPXE before 2024 know nothing else")
	f.BoolVar(&o.BootSecretsNeedTLS, "boot-secrets-need-tls", false, "refuse scripts of machines, ignition, configs, metadata and reports over plain HTTP (403), and answer chainload scripts, boot programs, images and /httpboot there alone")
	f.StringVar(&o.MetricsAddress, "metrics-address", "", "address to serve metrics on, HTTPS, to whom the Kubernetes API knows by a bearer token or a client certificate and allows to get /metrics (default: none)")
	f.BoolVar(&o.MetricsPlain, "metrics-plain", false, "serve them over HTTP to whoever asks instead, at a loopback address only")
	f.StringVar(&o.MetricsCertFile, "metrics-cert-file", "", "PEM certificate for the address of metrics (default: one of the API of farrier up, else a self-signed one)")
	f.StringVar(&o.MetricsKeyFile, "metrics-key-file", "", "PEM key of the certificate")
	f.IntVar(&o.MaxConnections, "max-connections", 0, "connections that machines may have to the boot and image addresses, so that idle ones take no descriptor that the store, the API or a BMC needs (default 0: a quarter of the files that the process may open, 12288 at most)")
	f.IntVar(&o.MaxConnectionsPerAddress, "max-connections-per-address", 0, "how many of them one address, of IPv6 one /64, may have, so that it keeps no other machine out (default 0: a quarter, 2048 at most, enough for a rack behind one address)")
	f.Var((*repeated)(&o.BootURLs), "boot-url", "base `URL` under which machines reach the boot server, or site=URL for those whose Server has the label farrier.dev/site; for each site one of IPv4 or a name and one of IPv6 (default: from --boot-tls-address, else from --boot-address)")
	f.Var((*repeated)(&o.BootURLs), "ipxe-service-url", "another name (`URL`) of --boot-url")
	f.StringVar(&o.ImageServerURL, "image-server-url", "", "base URL of images in objects, with or without /httpboot (default: the boot URL)")
	f.StringVar(&o.ImageAddress, "image-address", "", "a second address that answers /image and nothing else (default: none)")
	f.StringVar(&o.BootProgramsDir, "boot-programs-dir", "", "directory of network boot programs for /boot, <arch>/<file> (default: none)")
	f.IntVar(&o.BootRateLimit, "boot-rate-limit", o.BootRateLimit, "requests a second that the boot server takes from one address, of IPv6 one /64, ten seconds' worth at once, so that nobody keeps it busy alone; the default lets a thousand machines behind one address boot together; forwarders of --trusted-forwarders are not limited; 0: any")
	f.IntVar(&o.BootTLSRateLimit, "boot-tls-rate-limit", o.BootTLSRateLimit, "TLS handshakes a second that the boot server does with one address, of IPv6 one /64, twenty-five seconds' worth at once; more wait up to three seconds for their turn, then are refused; 0: any")
	f.StringVar(&o.OperatorAddress, "operator-address", o.OperatorAddress, "address where operators read probe reports and boots, HTTPS, with a bearer token of the Kubernetes API or a client certificate; port 0 means any free one, empty: none")
	f.StringVar(&o.OperatorURL, "operator-url", "", "base `URL` under which operators reach that address (default: from the address)")
	f.StringVar(&o.OperatorClientCAFile, "operator-client-ca-file", "", "PEM bundle of the authorities whose client certificates are taken there (default: that of the API of farrier up, else none)")
	f.StringVar(&o.OperatorCertFile, "operator-cert-file", "", "PEM certificate for that address (default: one of the API of farrier up, else a self-signed one)")
	f.StringVar(&o.OperatorKeyFile, "operator-key-file", "", "PEM key of the certificate")
	f.BoolVar(&o.Metadata, "metadata", false, "answer running machines that ask about themselves, /v1/")
	f.StringVar(&o.StaticMetadata, "static-metadata", "", "YAML file of metadata that is the same for all machines")
	f.StringVar(&o.ManagerNamespace, "manager-namespace", o.ManagerNamespace, "namespace for what Farrier keeps for itself")
	f.StringVar(&o.MACPrefixesFile, "mac-prefixes-file", "", "MAC prefix database, YAML")
	f.StringVar(&o.ProbeImage, "probe-os-image", "", "OCI image that is booted to look at a server from inside")
	f.StringVar(&o.ProbeAgentImage, "probe-image", "", "another name of --probe-os-image; where both are given, the image of the agent that a template of --discovery-ignition-path starts")
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
	f.DurationVar(&o.BMCFailureResetDelay, "bmc-failure-reset-delay", 0, "how long a BMC may fail before it is restarted, over SSH where its make can and somebody has accepted its SSH host key; never one whose certificate is not good (default 0: never)")
	f.StringVar(&o.BMCEventsAddress, "bmc-events-address", "", "address that BMCs send events to; port 0 means any free one (default: none, BMCs are polled only)")
	f.StringVar(&o.BMCEventsURL, "bmc-events-url", "", "base URL under which BMCs reach that address (default: from the address)")
	f.StringVar(&o.BMCEventsCertFile, "bmc-events-cert-file", "", "PEM certificate for that address: it speaks TLS (default: plain HTTP)")
	f.StringVar(&o.BMCEventsKeyFile, "bmc-events-key-file", "", "PEM key of the certificate")
	f.BoolVar(&o.InsecureSkipBMCVerify, "insecure-skip-bmc-verify", false, "do not verify the certificates of BMCs")
	f.StringVar(&o.BMCCAFile, "bmc-ca-file", "", "PEM bundle of the authorities that BMC certificates are verified with (default: the system's)")
	f.StringSliceVar(&o.AllowedRegistries, "allowed-registries", o.AllowedRegistries, "registries that images may come from, host or host:port")
	f.StringSliceVar(&o.RegistryMirrors, "registry-mirrors", nil, "registry=mirror: what is asked before a registry, without its credentials")
	f.StringSliceVar(&o.PlainHTTPRegistries, "plain-http-registries", nil, "those of them that are spoken to without TLS")
	f.StringSliceVar(&o.AllowedRegistryNetworks, "allowed-registry-networks", nil, "CIDRs of private networks where registries may redirect to, as one does that keeps blobs in a storage of its own; registries and mirrors that are named may be anywhere themselves (default: none, since a registry chooses where it sends us)")
	f.StringVar(&o.Architecture, "architecture", o.Architecture, "architecture of servers that do not tell theirs")
	f.Int64Var(&o.ImageCacheSize, "image-cache-size", o.ImageCacheSize, "bytes of disk for cached layers")
	f.Int64Var(&o.UnneededImageCacheSize, "unneeded-image-cache-size", 0, "bytes of them for what no boot configuration, default UKI or pinned image names: anybody can ask for that (default 0: a quarter)")
	f.StringSliceVar(&o.PinnedImages, "pinned-images", nil, "OCI images whose boot layers are fetched and kept like those of boot configurations: those that scripts written by hand name")
	f.StringVar(&o.BootProvider, "boot-provider", o.BootProvider, "who makes boot configurations ready and gives machines their scripts: farrier or external")
	f.StringVar(&o.ServerLifecycle, "server-lifecycle", o.ServerLifecycle, "who looks after BMCs, servers and claims: farrier or external")
	f.StringVar(&o.DefaultUKIImage, "default-httpboot-oci-image", "", "OCI image whose UKI machines get that /httpboot does not know")
	f.StringVar(&o.DefaultUKIURL, "default-httpboot-uki-url", "", "UKI for machines that /httpboot does not know")
	f.StringSliceVar(&o.BootNamespaces, "boot-namespaces", o.BootNamespaces, "namespaces beside the manager's whose boot objects may speak for any machine, with any priority; * is all, those that are not named with what is granted to them or, behind all grants, for any; others speak for the machines that the annotation farrier.dev/boot-identities of their Namespace grants")
	f.StringSliceVar(&o.WebhookHosts, "webhook-hosts", nil, "servers that Profiles may take content from: host, host:port or *.domain (default: none)")
	f.BoolVar(&o.SignConfigURLs, "sign-config-urls", false, "sign the URLs of configs in scripts, and let them end")
	f.IntVar(&o.NoAssignment, "no-assignment", o.NoAssignment, "answer for a machine that nothing is assigned to: 503, it asks again, or 404, it goes on to something else")
	f.StringVar(&o.IgnitionAccess, "ignition-access", o.IgnitionAccess, "who may read ignition: token, expected or open")
	f.StringVar(&o.BootIdentity, "boot-identity", o.BootIdentity, "what tells a machine that boots from others: token, that it has what its script held; address, that it asks from where that was fetched, and that no MAC address speaks against it; mac, that its MAC address is known and the machine's; bmc, that it boots by the URL that its BMC was given (UEFI HTTP boot of a unified kernel image)")
	f.DurationVar(&o.BootSecretsDeadline, "boot-secrets-deadline", o.BootSecretsDeadline, "how long after power-on a machine may begin to boot and read its ignition; a claim's machine that has begun in time may again at any time, unless its boot policy is Once")
	f.BoolVar(&o.AllowUnauthenticatedProbe, "allow-unauthenticated-probe", false, "accept probe reports without a token")
	f.StringSliceVar(&o.TrustedForwarders, "trusted-forwarders", nil, "CIDRs whose X-Forwarded-For is believed on /httpboot; none: nobody (default: private networks)")
}
