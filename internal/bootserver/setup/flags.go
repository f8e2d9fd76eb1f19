package setup

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

// BindAddresses binds what is said of directories, addresses and certificates. Flags of the operators that Farrier replaces keep their names.
func (o *Options) BindAddresses(f *pflag.FlagSet) {
	f.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory for all files that Farrier keeps")
	f.StringVar(&o.BootAddress, "boot-address", o.BootAddress, "host:port of the boot server over plain HTTP; empty: none, which needs --boot-tls-address")
	f.StringVar(&o.BootTLSAddress, "boot-tls-address", "", "host:port of the boot server over HTTPS; port 0: any free port (default: none)")
	f.StringSliceVar(&o.BootTLSNames, "boot-tls-names", nil, "more IP addresses and DNS names for the certificate of --boot-tls-address; it always covers the hosts of https boot URLs and its own address")
	f.StringVar(&o.BootTLSCertFile, "boot-tls-cert-file", "", "PEM certificate chain for --boot-tls-address; Farrier reloads it when it changes (default: a certificate of Farrier's own authority, in the Secret farrier-boot-ca)")
	f.StringVar(&o.BootTLSKeyFile, "boot-tls-key-file", "", "PEM private key of --boot-tls-cert-file; nobody but its owner, or a group that root allows, may have access to it")
	f.StringVar(&o.BootTLSCAFile, "boot-tls-ca-file", "", "PEM bundle of the authorities that machines verify the boot server with, also if a proxy terminates TLS (default: the authorities that machines trust already)")
	f.BoolVar(&o.BootTLSForwardSecrecy, "boot-tls-forward-secrecy", false, "refuse TLS without forward secrecy; UEFI firmware without elliptic curves and iPXE before 2024 then cannot connect")
	f.BoolVar(&o.BootSecretsNeedTLS, "boot-secrets-need-tls", false, "refuse (403) to send or take secrets over plain HTTP: machine scripts, ignition, configs, metadata and reports; chainload scripts, boot programs, images and /httpboot are still served")
}

// BindURLs binds what is said of connections, and of URLs by which machines come.
func (o *Options) BindURLs(f *pflag.FlagSet) {
	f.IntVar(&o.MaxConnections, "max-connections", 0, "most connections that machines may have open to the boot and image addresses, so that files remain for the store, the API and BMCs (default 0: a quarter of the process's open-file limit, at most 12288)")
	f.IntVar(&o.MaxConnectionsPerAddress, "max-connections-per-address", 0, "most of these connections from one IPv4 address or IPv6 /64, so that one client does not lock out others (default 0: a quarter of them, at most 2048, enough for a rack behind one address)")
	f.Var((*repeated)(&o.BootURLs), "boot-url", "base `URL` under which machines reach the boot server, or site=URL for Servers with that label farrier.dev/site; for each site at most one URL of IPv4 or a name and one of IPv6; repeat the flag for more (default: from --boot-tls-address, otherwise from --boot-address)")
	f.Var((*repeated)(&o.BootURLs), "ipxe-service-url", "alias of --boot-url (`URL`)")
	f.StringVar(&o.ImageServerURL, "image-server-url", "", "base URL of images in boot objects, with or without /httpboot (default: the boot URL)")
	f.StringVar(&o.ImageAddress, "image-address", "", "host:port of a second server, for /image only (default: none)")
	f.StringVar(&o.BootProgramsDir, "boot-files", "", "directory of network boot programs: <arch>/<file>, which /boot serves too, or files as Debian's package ipxe has them (default: /usr/lib/ipxe for TFTP, none for /boot)")
	f.StringVar(&o.BootProgramsDir, "boot-programs-dir", "", "alias of --boot-files")
	f.IntVar(&o.BootRateLimit, "boot-rate-limit", o.BootRateLimit, "requests per second that the boot server accepts from one IPv4 address or IPv6 /64, with bursts of 10 seconds' worth; --trusted-forwarders are exempt; 0: no limit. The default lets a thousand machines behind one address boot together")
	f.IntVar(&o.BootTLSRateLimit, "boot-tls-rate-limit", o.BootTLSRateLimit, "TLS handshakes per second that the boot server accepts from one IPv4 address or IPv6 /64, with bursts of 25 seconds' worth; a handshake above the limit waits up to 3 seconds, then is refused; 0: no limit")
}

// BindDHCP binds what is said of DHCP and TFTP.
func (o *Options) BindDHCP(f *pflag.FlagSet) { o.DHCP.Bind(f) }

// BindMetadata binds what is said of running machines.
func (o *Options) BindMetadata(f *pflag.FlagSet) {
	f.BoolVar(&o.Metadata, "metadata", false, "serve metadata to running machines at /v1/")
}

// BindRegistries binds what is said of registries.
func (o *Options) BindRegistries(f *pflag.FlagSet) {
	f.StringSliceVar(&o.AllowedRegistries, "allowed-registries", o.AllowedRegistries, "registries that images may come from, host or host:port")
	f.StringSliceVar(&o.RegistryMirrors, "registry-mirrors", nil, "registry=mirror pairs; Farrier asks the mirror first, without the credentials of the registry (default: none)")
	f.StringSliceVar(&o.PlainHTTPRegistries, "plain-http-registries", nil, "registries and mirrors that Farrier connects to without TLS (default: none)")
	f.BoolVar(&o.RequireSignedImages, "require-signed-images", false, "boot only images that a key of --image-signature-keys has signed, in the format of cosign; images of local folders need no signature")
	f.StringSliceVar(&o.ImageSignatureKeys, "image-signature-keys", nil, "PEM files of public keys for --require-signed-images; one of the keys has to have signed an image (default: none)")
	f.StringVar(&o.ImageLayouts, "image-layouts", "", "folder of OCI image layouts: the one in NAME is the image layouts.localhost/NAME:TAG, without a registry (docs/discovery-image.md) (default: none)")
	f.StringSliceVar(&o.AllowedRegistryNetworks, "allowed-registry-networks", nil, "CIDRs of private networks that registries may redirect to, such as that of a separate blob storage; named registries and mirrors may be in any network (default: none, because the registry chooses the target)")
}

// BindImageCache binds what is said of the cache of images.
func (o *Options) BindImageCache(f *pflag.FlagSet) {
	f.Int64Var(&o.ImageCacheSize, "image-cache-size", o.ImageCacheSize, "disk space for cached image layers, in bytes")
	f.Int64Var(&o.UnneededImageCacheSize, "unneeded-image-cache-size", 0, "share of --image-cache-size, in bytes, for layers that no boot configuration, default UKI or pinned image names; any client can request those (default 0: a quarter)")
}

// BindAccess binds what is said of who is answered what.
func (o *Options) BindAccess(f *pflag.FlagSet) {
	f.IntVar(&o.NoAssignment, "no-assignment", o.NoAssignment, "HTTP status for a machine without an Assignment: 503, the machine asks again, or 404, it continues with its boot order")
	f.StringVar(&o.IgnitionAccess, "ignition-access", o.IgnitionAccess, "who may read ignition: token, only with the token of the open boot attempt; expected, also without a token while the attempt is open, unless the address belongs to another known machine; open, any client")
	f.StringVar(&o.BootIdentity, "boot-identity", o.BootIdentity, "how the boot server recognizes a booting machine: token, by the token in its script, from any address; address, by the address that asked first after power-on, unless its MAC address is another machine's; mac, as address, and its MAC address must be known and the machine's; bmc, by the image URL that only its BMC was given (UEFI HTTP boot of a unified kernel image)")
	f.DurationVar(&o.BootSecretsDeadline, "boot-secrets-deadline", o.BootSecretsDeadline, "how long after power-on a machine may start to boot and read its ignition; the machine of a claim that has started in time may boot again at any time, unless its boot policy is Once")
	f.BoolVar(&o.AllowUnauthenticatedProbe, "allow-unauthenticated-probe", false, "accept probe reports without a token")
	f.StringSliceVar(&o.TrustedForwarders, "trusted-forwarders", nil, "CIDRs of forwarders whose X-Forwarded-For header /httpboot trusts, or none (default: private networks, so any host there can impersonate a machine)")
}
