package system

import (
	"strings"

	"github.com/spf13/pflag"
)

// repeated is a flag that can be repeated, also under several names: each one adds a value. It is a pflag.SliceValue, so a file of flags
// can give it a list.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, " ") }
func (r *repeated) Type() string   { return "string" }
func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}
func (r *repeated) Append(value string) error     { return r.Set(value) }
func (r *repeated) Replace(values []string) error { *r = values; return nil }
func (r *repeated) GetSlice() []string            { return *r }

// Bind binds the options that `farrier up` and `farrier-manager` have in common. Flags of the operators that Farrier
// replaces keep their names.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for all files that Farrier keeps")
	f.StringVar(&o.BootAddress, "boot-address", o.BootAddress, "host:port of the boot server over plain HTTP; empty: none, which needs --boot-tls-address")
	f.StringVar(&o.BootTLSAddress, "boot-tls-address", "", "host:port of the boot server over HTTPS; port 0: any free port (default: none)")
	f.StringSliceVar(&o.BootTLSNames, "boot-tls-names", nil, "more IP addresses and DNS names for the certificate of --boot-tls-address; it always covers the hosts of https boot URLs and its own address")
	f.StringVar(&o.BootTLSCertFile, "boot-tls-cert-file", "", "PEM certificate chain for --boot-tls-address; Farrier reloads it when it changes (default: a certificate of Farrier's own authority, in the Secret farrier-boot-ca)")
	f.StringVar(&o.BootTLSKeyFile, "boot-tls-key-file", "", "PEM private key of --boot-tls-cert-file; nobody but its owner, or a group that root allows, may have access to it")
	f.StringVar(&o.BootTLSCAFile, "boot-tls-ca-file", "", "PEM bundle of the authorities that machines verify the boot server with, also if a proxy terminates TLS (default: the authorities that machines trust already)")
	f.BoolVar(&o.BootTLSForwardSecrecy, "boot-tls-forward-secrecy", false, "refuse TLS without forward secrecy; UEFI firmware without elliptic curves and iPXE before 2024 then cannot connect")
	f.BoolVar(&o.BootSecretsNeedTLS, "boot-secrets-need-tls", false, "refuse (403) to send or take secrets over plain HTTP: machine scripts, ignition, configs, metadata and reports; chainload scripts, boot programs, images and /httpboot are still served")
	f.StringVar(&o.MetricsAddress, "metrics-address", "", "host:port of the metrics over HTTPS; clients need a bearer token or a client certificate of the Kubernetes API and the right to get /metrics (default: none)")
	f.BoolVar(&o.MetricsPlain, "metrics-plain", false, "serve metrics over plain HTTP to every client; --metrics-address must be a loopback address")
	f.StringVar(&o.MetricsCertFile, "metrics-cert-file", "", "PEM certificate for --metrics-address (default: one of the API of 'farrier up', otherwise self-signed)")
	f.StringVar(&o.MetricsKeyFile, "metrics-key-file", "", "PEM private key of --metrics-cert-file")
	f.IntVar(&o.MaxConnections, "max-connections", 0, "most connections that machines may have open to the boot and image addresses, so that files remain for the store, the API and BMCs (default 0: a quarter of the process's open-file limit, at most 12288)")
	f.IntVar(&o.MaxConnectionsPerAddress, "max-connections-per-address", 0, "most of these connections from one IPv4 address or IPv6 /64, so that one client does not lock out others (default 0: a quarter of them, at most 2048, enough for a rack behind one address)")
	f.Var((*repeated)(&o.BootURLs), "boot-url", "base `URL` under which machines reach the boot server, or site=URL for Servers with that label farrier.dev/site; for each site at most one URL of IPv4 or a name and one of IPv6; repeat the flag for more (default: from --boot-tls-address, otherwise from --boot-address)")
	f.Var((*repeated)(&o.BootURLs), "ipxe-service-url", "alias of --boot-url (`URL`)")
	f.StringVar(&o.ImageServerURL, "image-server-url", "", "base URL of images in boot objects, with or without /httpboot (default: the boot URL)")
	f.StringVar(&o.ImageAddress, "image-address", "", "host:port of a second server, for /image only (default: none)")
	f.StringVar(&o.BootProgramsDir, "boot-programs-dir", "", "directory of network boot programs, <arch>/<file>, served at /boot (default: none)")
	f.IntVar(&o.BootRateLimit, "boot-rate-limit", o.BootRateLimit, "requests per second that the boot server accepts from one IPv4 address or IPv6 /64, with bursts of 10 seconds' worth; --trusted-forwarders are exempt; 0: no limit. The default lets a thousand machines behind one address boot together")
	f.IntVar(&o.BootTLSRateLimit, "boot-tls-rate-limit", o.BootTLSRateLimit, "TLS handshakes per second that the boot server accepts from one IPv4 address or IPv6 /64, with bursts of 25 seconds' worth; a handshake above the limit waits up to 3 seconds, then is refused; 0: no limit")
	f.StringVar(&o.OperatorAddress, "operator-address", o.OperatorAddress, "host:port where operators read probe reports and boots over HTTPS, with a bearer token of the Kubernetes API or a client certificate; port 0: any free port; empty: none")
	f.StringVar(&o.OperatorURL, "operator-url", "", "base `URL` under which operators reach --operator-address (default: from the address)")
	f.StringVar(&o.OperatorClientCAFile, "operator-client-ca-file", "", "PEM bundle of the authorities whose client certificates --operator-address accepts (default: the authority of the API of 'farrier up', otherwise none)")
	f.StringVar(&o.OperatorCertFile, "operator-cert-file", "", "PEM certificate for --operator-address (default: one of the API of 'farrier up', otherwise self-signed)")
	f.StringVar(&o.OperatorKeyFile, "operator-key-file", "", "PEM private key of --operator-cert-file")
	f.BoolVar(&o.Metadata, "metadata", false, "serve metadata to running machines at /v1/")
	f.StringVar(&o.StaticMetadata, "static-metadata", "", "YAML file of metadata that every machine gets")
	f.StringVar(&o.ManagerNamespace, "manager-namespace", o.ManagerNamespace, "namespace for Farrier's own objects")
	f.StringVar(&o.MACPrefixesFile, "mac-prefixes-file", "", "YAML file of the MAC prefix database, which tells the vendor of a BMC by its MAC address (default: none)")
	f.StringVar(&o.ProbeImage, "probe-os-image", "", "OCI image of the probe, which a server boots for in-band inspection and cleaning (default: none)")
	f.StringVar(&o.ProbeAgentImage, "probe-image", "", "alias of --probe-os-image; if both are given, the image of the agent that the template of --discovery-ignition-path starts")
	f.StringVar(&o.DiscoveryIgnitionPath, "discovery-ignition-path", "", "file with the Butane template for the probe's ignition (default: built in)")
	f.DurationVar(&o.DiscoveryTimeout, "discovery-timeout", o.DiscoveryTimeout, "how long a probe may take to report")
	f.IntVar(&o.DiscoveryRetries, "discovery-retries", o.DiscoveryRetries, "how often Farrier repeats a failed discovery before the server goes to the state Error")
	f.DurationVar(&o.PowerOffBudget, "power-off-budget", o.PowerOffBudget, "how long an operating system may take to shut down")
	f.BoolVar(&o.EnforcePowerOff, "enforce-power-off", o.EnforcePowerOff, "force a machine off if it has not shut down within --power-off-budget after its claim ended")
	f.StringVar(&o.Cleanup, "cleanup", o.Cleanup, "how to clean a server after its claim ends: none, metadata or full; the claim and the server can ask for more")
	f.DurationVar(&o.CleanupTimeout, "cleanup-timeout", o.CleanupTimeout, "how long a probe may take to clean a server")
	f.DurationVar(&o.BMCPollInterval, "bmc-poll-interval", o.BMCPollInterval, "how often Farrier polls an idle BMC")
	f.DurationVar(&o.BMCFastPoll, "bmc-fast-poll", o.BMCFastPoll, "how often Farrier polls a BMC at first while it waits for a power change")
	f.DurationVar(&o.BMCRequestTimeout, "bmc-request-timeout", o.BMCRequestTimeout, "how long one request to a BMC may take")
	f.DurationVar(&o.BMCIdleTimeout, "bmc-idle-timeout", o.BMCIdleTimeout, "how long Farrier keeps an unused connection to a BMC if the next request is due within that time")
	f.DurationVar(&o.BMCFailureResetDelay, "bmc-failure-reset-delay", 0, "how long a BMC may fail before Farrier restarts it over SSH; the vendor must support it, a person must have accepted the SSH host key, and the BMC's certificate must not be invalid (default 0: never)")
	f.StringVar(&o.BMCEventsAddress, "bmc-events-address", "", "host:port that BMCs send events to; port 0: any free port (default: none, Farrier only polls)")
	f.StringVar(&o.BMCEventsURL, "bmc-events-url", "", "base URL under which BMCs reach --bmc-events-address (default: from the address)")
	f.StringVar(&o.BMCEventsCertFile, "bmc-events-cert-file", "", "PEM certificate for --bmc-events-address, to receive events over HTTPS (default: plain HTTP)")
	f.StringVar(&o.BMCEventsKeyFile, "bmc-events-key-file", "", "PEM private key of --bmc-events-cert-file")
	f.BoolVar(&o.InsecureSkipBMCVerify, "insecure-skip-bmc-verify", false, "do not verify the certificates of BMCs: anybody on the management network can read their passwords")
	f.StringVar(&o.BMCCAFile, "bmc-ca-file", "", "PEM bundle of the authorities that verify the certificates of BMCs (default: the authorities of the system)")
	f.StringSliceVar(&o.AllowedRegistries, "allowed-registries", o.AllowedRegistries, "registries that images may come from, host or host:port")
	f.StringSliceVar(&o.RegistryMirrors, "registry-mirrors", nil, "registry=mirror pairs; Farrier asks the mirror first, without the credentials of the registry (default: none)")
	f.StringSliceVar(&o.PlainHTTPRegistries, "plain-http-registries", nil, "registries and mirrors that Farrier connects to without TLS (default: none)")
	f.StringSliceVar(&o.AllowedRegistryNetworks, "allowed-registry-networks", nil, "CIDRs of private networks that registries may redirect to, such as that of a separate blob storage; named registries and mirrors may be in any network (default: none, because the registry chooses the target)")
	f.StringVar(&o.Architecture, "architecture", o.Architecture, "architecture of servers that do not report theirs")
	f.Int64Var(&o.ImageCacheSize, "image-cache-size", o.ImageCacheSize, "disk space for cached image layers, in bytes")
	f.Int64Var(&o.UnneededImageCacheSize, "unneeded-image-cache-size", 0, "share of --image-cache-size, in bytes, for layers that no boot configuration, default UKI or pinned image names; any client can request those (default 0: a quarter)")
	f.StringSliceVar(&o.PinnedImages, "pinned-images", nil, "OCI images whose boot layers Farrier fetches and keeps, such as those that hand-written scripts name (default: none)")
	f.StringVar(&o.BootProvider, "boot-provider", o.BootProvider, "who prepares boot configurations and serves scripts to machines: farrier or external")
	f.StringVar(&o.ServerLifecycle, "server-lifecycle", o.ServerLifecycle, "who manages BMCs, servers and claims: farrier or external")
	f.StringVar(&o.DefaultUKIImage, "default-httpboot-oci-image", "", "OCI image whose UKI /httpboot gives to machines without a boot configuration (default: none)")
	f.StringVar(&o.DefaultUKIURL, "default-httpboot-uki-url", "", "URL of the UKI that /httpboot gives to machines without a boot configuration (default: none)")
	f.StringSliceVar(&o.BootNamespaces, "boot-namespaces", o.BootNamespaces, "namespaces, besides --manager-namespace, whose boot objects may decide for any machine, with any priority. Other namespaces decide only for machines that the annotation farrier.dev/boot-identities of their Namespace grants; with *, also for any machine, after all grants")
	f.StringSliceVar(&o.WebhookHosts, "webhook-hosts", nil, "servers that Profiles may request content from: host, host:port or *.domain (default: none)")
	f.BoolVar(&o.SignConfigURLs, "sign-config-urls", false, "sign the URLs of configs in scripts and let them expire")
	f.IntVar(&o.NoAssignment, "no-assignment", o.NoAssignment, "HTTP status for a machine without an Assignment: 503, the machine asks again, or 404, it continues with its boot order")
	f.StringVar(&o.IgnitionAccess, "ignition-access", o.IgnitionAccess, "who may read ignition: token, only with the token of the open boot attempt; expected, also without a token while the attempt is open, unless the address belongs to another known machine; open, any client")
	f.StringVar(&o.BootIdentity, "boot-identity", o.BootIdentity, "how the boot server recognizes a booting machine: token, by the token in its script, from any address; address, by the address that asked first after power-on, unless its MAC address is another machine's; mac, as address, and its MAC address must be known and the machine's; bmc, by the image URL that only its BMC was given (UEFI HTTP boot of a unified kernel image)")
	f.DurationVar(&o.BootSecretsDeadline, "boot-secrets-deadline", o.BootSecretsDeadline, "how long after power-on a machine may start to boot and read its ignition; the machine of a claim that has started in time may boot again at any time, unless its boot policy is Once")
	f.BoolVar(&o.AllowUnauthenticatedProbe, "allow-unauthenticated-probe", false, "accept probe reports without a token")
	f.StringSliceVar(&o.TrustedForwarders, "trusted-forwarders", nil, "CIDRs of forwarders whose X-Forwarded-For header /httpboot trusts, or none (default: private networks, so any host there can impersonate a machine)")
}
