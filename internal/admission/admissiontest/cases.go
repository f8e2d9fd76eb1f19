package admissiontest

import (
	"slices"
	"strings"
)

// Case is a request and what becomes of it. In manifests $ns is a namespace and $n two hexadecimal digits, both of the case alone.
type Case struct {
	Name string
	// Given are objects that exist.
	Given []string
	// Old is what is stored, empty if the object is created.
	Old, Object string
	// Deleted says that the object is stored and then deleted.
	Deleted bool
	// Refused is the path of the field that is wrong, empty if nothing is; Text is part of what is said of it.
	Refused, Text string
	// Warnings are parts of the warnings, all of them.
	Warnings []string
}

const metalAPI = "apiVersion: metal.ironcore.dev/v1alpha1\n"
const bootAPI = "apiVersion: boot.ironcore.dev/v1alpha1\n"
const farrierAPI = "apiVersion: farrier.dev/v1alpha1\n"

func manifest(kind, metadata, rest string) string {
	api := metalAPI
	switch {
	case strings.HasSuffix(kind, "BootConfig"):
		api = bootAPI
	case kind == "RolloutPolicy", kind == "FirmwareImage":
		api = farrierAPI
	}
	return api + "kind: " + kind + "\nmetadata: {" + metadata + "}\n" + rest
}

// secret is a Secret of a claim's namespace.
const secret = "{apiVersion: v1, kind: Secret, metadata: {name: ignition, namespace: $ns}}"

var (
	server  = manifest("Server", "name: s-$n, labels: {rack: r1}", `spec: {systemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}`)
	claimed = func(metadata, spec string) string {
		return manifest("ServerClaim", "name: c, namespace: $ns"+metadata, `spec: {power: "On", image: "registry/os:1"`+spec+"}")
	}
)

// Cases are what both shells and the rules alone are held to.
var Cases = slices.Concat(rackCases, settingsCases, setCases, otherSetCases, rolloutCases, versionCases, claimCases, annotationCases, bootCases, ipxeCases, overlapCases, deletionCases, nameCases)

var rackCases = []Case{
	{
		Name:   "an Endpoint with a MAC of its own",
		Given:  []string{manifest("Endpoint", "name: a-$n", `spec: {macAddress: "02:00:00:00:$n:01"}`)},
		Object: manifest("Endpoint", "name: b-$n", `spec: {macAddress: "02:00:00:00:$n:02"}`),
	},
	{
		Name:    "an Endpoint with the MAC of another, spelled in another way",
		Given:   []string{manifest("Endpoint", "name: a-$n", `spec: {macAddress: "02:FA:00:00:$n:01"}`)},
		Object:  manifest("Endpoint", "name: b-$n", `spec: {macAddress: "02fa.0000.$n01"}`),
		Refused: "spec.macAddress", Text: `Endpoint "a-$n" has the same MAC address 02:fa:00:00:$n:01`,
	},
	{
		Name:    "an Endpoint that is given the MAC of another",
		Given:   []string{manifest("Endpoint", "name: a-$n", `spec: {macAddress: "02:00:00:00:$n:01"}`)},
		Old:     manifest("Endpoint", "name: b-$n", `spec: {macAddress: "02:00:00:00:$n:02"}`),
		Object:  manifest("Endpoint", "name: b-$n", `spec: {macAddress: "02:00:00:00:$n:01"}`),
		Refused: "spec.macAddress", Text: `Endpoint "a-$n"`,
	},
	{
		Name:   "an Endpoint whose MAC is spelled in another way than before",
		Old:    manifest("Endpoint", "name: a-$n", `spec: {macAddress: "02:00:00:00:$n:01"}`),
		Object: manifest("Endpoint", "name: a-$n", `spec: {macAddress: "02-00-00-00-$n-01"}`),
	},
	{
		Name:   "two Endpoints without a MAC",
		Given:  []string{manifest("Endpoint", "name: a-$n", `spec: {ip: 192.0.2.1}`)},
		Object: manifest("Endpoint", "name: b-$n", `spec: {ip: 192.0.2.2}`),
	},
	{
		Name:    "a Server with the UUID of another, spelled in another way",
		Given:   []string{server},
		Object:  manifest("Server", "name: t-$n", `spec: {systemUUID: "4C4C4544-0043-3510-8052-B7C04F4E4D$n"}`),
		Refused: "spec.systemUUID", Text: `Server "s-$n" has the same system UUID 4c4c4544-0043-3510-8052-b7c04f4e4d$n`,
	},
	{
		Name:     "two Servers whose makers gave them no UUID",
		Given:    []string{manifest("Server", "name: s-$n", `spec: {systemUUID: "00000000-0000-0000-0000-000000000000"}`)},
		Object:   manifest("Server", "name: t-$n", `spec: {systemUUID: "00000000-0000-0000-0000-000000000000"}`),
		Warnings: []string{`spec.systemUUID: "00000000-0000-0000-0000-000000000000" is a placeholder`},
	},
	{
		Name:     "two boards with the UUID that their vendor ships, spelled in two ways",
		Given:    []string{manifest("Server", "name: s-$n", `spec: {systemUUID: "03000200-0400-0500-0006-000700080009"}`)},
		Object:   manifest("Server", "name: t-$n", `spec: {systemUUID: "{03000200-0400-0500-0006-000700080009}"}`),
		Warnings: []string{`spec.systemUUID: "{03000200-0400-0500-0006-000700080009}" is a placeholder and identifies no machine`},
	},
	{
		Name:   "a Server with a placeholder, changed elsewhere",
		Old:    manifest("Server", "name: s-$n", `spec: {systemUUID: "03000200-0400-0500-0006-000700080009"}`),
		Object: manifest("Server", "name: s-$n, labels: {rack: r1}", `spec: {systemUUID: "03000200-0400-0500-0006-000700080009"}`),
	},
	{
		Name:   "two Servers without a UUID",
		Given:  []string{manifest("Server", "name: s-$n", `spec: {systemUUID: ""}`)},
		Object: manifest("Server", "name: t-$n", `spec: {systemUUID: ""}`),
	},
	{
		Name:    "a Server with the name of somebody's Secret in the manager's namespace",
		Given:   []string{"{apiVersion: v1, kind: Secret, metadata: {name: s-$n, namespace: farrier-system}}"},
		Object:  server,
		Refused: "metadata.name", Text: `Secret farrier-system/s-$n has a name that the discovery of Server "s-$n" needs`,
	},
	{
		Name:   "a Server that was discovered under this name before",
		Given:  []string{"{apiVersion: v1, kind: Secret, metadata: {name: s-$n, namespace: farrier-system, annotations: {metal.ironcore.dev/type: Internal}}}"},
		Object: server,
	},
	{
		Name:    "a Server with the name of another's Secret",
		Given:   []string{server},
		Object:  manifest("Server", "name: s-$n-ssh", `spec: {systemUUID: ""}`),
		Refused: "metadata.name", Text: `Server "s-$n" exists, and both would keep a Secret s-$n-ssh in namespace farrier-system`,
	},
	{
		Name:    "a Server with the name of a claim in the manager's namespace",
		Given:   []string{manifest("ServerClaim", "name: s-$n, namespace: farrier-system", `spec: {power: "On", image: i}`)},
		Object:  server,
		Refused: "metadata.name", Text: `ServerClaim farrier-system/s-$n has a name that the discovery of Server "s-$n" needs`,
	},
	{
		Name:     "a Server that is asked for power",
		Object:   manifest("Server", "name: s-$n", `spec: {systemUUID: "", power: "On"}`),
		Warnings: []string{`spec.power: will be removed: the ServerClaim or the ServerMaintenance of a server decides its power`},
	},
	{
		Name:     "a BMC of nothing that exists",
		Object:   manifest("BMC", "name: b-$n", `spec: {endpointRef: {name: e-$n}, bmcSecretRef: {name: c-$n}, protocol: {name: Redfish, port: 443}}`),
		Warnings: []string{`spec.endpointRef: Endpoint "e-$n" does not exist`, `spec.bmcSecretRef: BMCSecret "c-$n" does not exist`},
	},
	{
		Name:   "a BMC of what exists",
		Given:  []string{manifest("Endpoint", "name: e-$n", "spec: {ip: 192.0.2.1}"), manifest("BMCSecret", "name: c-$n", "stringData: {username: a, password: b}")},
		Object: manifest("BMC", "name: b-$n", `spec: {endpointRef: {name: e-$n}, bmcSecretRef: {name: c-$n}, protocol: {name: Redfish, port: 443}}`),
	},
	{
		Name:    "a BMCSecret that stands for a Secret of a namespace that does not allow it",
		Object:  manifest("BMCSecret", "name: c-$n, annotations: {farrier.dev/secret: $ns/bmc}", ""),
		Refused: "metadata.annotations[farrier.dev/secret]", Text: `namespace "$ns" is not labelled farrier.dev/bmc-secrets=allowed`,
	},
	{
		Name:    "a BMCSecret that stands for a Secret of a namespace that does not exist",
		Object:  manifest("BMCSecret", "name: c-$n, annotations: {farrier.dev/secret: nowhere/bmc}", ""),
		Refused: "metadata.annotations[farrier.dev/secret]", Text: `namespace "nowhere" is not labelled farrier.dev/bmc-secrets=allowed`,
	},
	{
		Name:    "a BMCSecret that stands for a Secret without a namespace",
		Object:  manifest("BMCSecret", "name: c-$n, annotations: {farrier.dev/secret: bmc}", ""),
		Refused: "metadata.annotations[farrier.dev/secret]", Text: "must be <namespace>/<name>",
	},
	{
		Name:   "a BMCSecret that stands for a Secret of a namespace that allows it",
		Given:  []string{"{apiVersion: v1, kind: Namespace, metadata: {name: open-$n, labels: {farrier.dev/bmc-secrets: allowed}}}"},
		Object: manifest("BMCSecret", "name: c-$n, annotations: {farrier.dev/secret: open-$n/bmc}", ""),
	},
	{
		Name:   "a BMCSecret that stands for a Secret of the manager",
		Object: manifest("BMCSecret", "name: c-$n, annotations: {farrier.dev/secret: farrier-system/bmc}", ""),
	},
	{
		Name:     "a maintenance of a server that does not exist",
		Object:   manifest("ServerMaintenance", "name: m, namespace: $ns", `spec: {serverRef: {name: s-$n}}`),
		Warnings: []string{`spec.serverRef: Server "s-$n" does not exist`},
	},
	{
		Name:    "a maintenance that boots what is no image",
		Given:   []string{server},
		Object:  manifest("ServerMaintenance", "name: m, namespace: $ns", `spec: {serverRef: {name: s-$n}, serverBootConfigurationTemplate: {name: b, spec: {serverRef: {name: s-$n}, image: "http://a/b"}}}`),
		Refused: "spec.serverBootConfigurationTemplate.spec.image", Text: "URL scheme",
	},
	{
		Name:     "BIOS settings for a server that does not exist",
		Object:   manifest("BIOSSettings", "name: s-$n", `spec: {version: "1", serverRef: {name: s-$n}}`),
		Warnings: []string{`spec.serverRef: Server "s-$n" does not exist`},
	},
	{
		Name:   "BIOS settings for a server that exists",
		Given:  []string{server},
		Object: manifest("BIOSSettings", "name: s-$n", `spec: {version: "1", serverRef: {name: s-$n}}`),
	},
}

var claimCases = []Case{
	{
		Name:   "a claim",
		Given:  []string{secret, server},
		Object: claimed("", ", ignitionSecretRef: {name: ignition}, serverRef: {name: s-$n}, serverSelector: {matchLabels: {rack: r1}}"),
	},
	{
		Name:    "a claim whose image is no reference",
		Object:  manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "On", image: "not an image"}`),
		Refused: "spec.image", Text: `not an image`,
	},
	{
		Name:     "a claim without an image",
		Object:   manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "On", image: ""}`),
		Warnings: []string{"spec.image: is empty: the claim gets a Server that stays off"},
	},
	{
		Name:   "a claim without an image that wants a Server to be off",
		Object: manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "Off", image: ""}`),
	},
	{
		Name:     "a claim with a power state that is none",
		Object:   manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "on", image: "registry/os:1"}`),
		Warnings: []string{`spec.power: "on" is neither On nor Off`},
	},
	{
		Name:     "a claim without a power state",
		Object:   manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "", image: "registry/os:1"}`),
		Warnings: []string{`spec.power: "" is neither On nor Off`},
	},
	{
		Name:   "a claim that had a power state that is none",
		Old:    manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "on", image: "registry/os:1"}`),
		Object: manifest("ServerClaim", "name: c, namespace: $ns, labels: {a: b}", `spec: {power: "on", image: "registry/os:1"}`),
	},
	{
		Name:    "a claim that is given an image that is no reference",
		Old:     claimed("", ""),
		Object:  manifest("ServerClaim", "name: c, namespace: $ns", `spec: {power: "On", image: "https://registry/os"}`),
		Refused: "spec.image", Text: "URL scheme",
	},
	{
		Name:    "a claim in the manager's namespace with the name of a Server",
		Given:   []string{server},
		Object:  manifest("ServerClaim", "name: s-$n, namespace: farrier-system", `spec: {power: "On", image: i}`),
		Refused: "metadata.name", Text: `the boot configuration of ServerClaim "s-$n" would replace the one for the Server's discovery`,
	},
	{
		Name:   "a claim elsewhere with the name of a Server",
		Given:  []string{server},
		Object: manifest("ServerClaim", "name: s-$n, namespace: $ns", `spec: {power: "On", image: i}`),
	},
	{
		Name:     "a claim for a server that does not match its selector",
		Given:    []string{server},
		Object:   claimed("", ", serverRef: {name: s-$n}, serverSelector: {matchLabels: {rack: r2}}"),
		Warnings: []string{`spec.serverRef: the labels of Server "s-$n" do not match spec.serverSelector`},
	},
	{
		Name:     "a claim for a server that does not exist",
		Object:   claimed("", ", serverRef: {name: s-$n}"),
		Warnings: []string{`spec.serverRef: Server "s-$n" does not exist`},
	},
	{
		Name:    "a claim with a selector that selects in no way",
		Object:  claimed("", ", serverSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}"),
		Refused: "spec.serverSelector", Text: `"Near" is not a valid label selector operator`,
	},
	{
		Name:     "a claim whose Secrets do not exist",
		Object:   claimed(", annotations: {farrier.dev/image-pull-secret: pull}", ", ignitionSecretRef: {name: ignition}, userDataRef: {name: user}"),
		Warnings: []string{`spec.ignitionSecretRef: Secret "ignition"`, `spec.userDataRef: Secret "user"`, `metadata.annotations[farrier.dev/image-pull-secret]: Secret "pull"`},
	},
	{
		Name:     "a claim whose user data is of another type",
		Given:    []string{secret},
		Object:   claimed("", ", userDataRef: {name: ignition}"),
		Warnings: []string{`must have the type "metal.ironcore.dev/user-data"`},
	},
	{
		Name:   "a claim that is bound to a server",
		Given:  []string{server},
		Old:    claimed("", ""),
		Object: claimed("", ", serverRef: {name: s-$n}"),
	},
}

var annotationCases = []Case{
	{Name: "a boot policy", Object: claimed(", annotations: {farrier.dev/boot-policy: Once}", "")},
	{
		Name:    "a boot policy that is none",
		Object:  claimed(", annotations: {farrier.dev/boot-policy: once}", ""),
		Refused: "metadata.annotations[farrier.dev/boot-policy]", Text: `supported values: "Always", "Once"`,
	},
	{Name: "ways of cleaning", Object: claimed(`, annotations: {farrier.dev/cleanup: "full, boot-order,bios-defaults"}`, "")},
	{
		Name:    "a way of cleaning that is none",
		Object:  claimed(", annotations: {farrier.dev/cleanup: 'full,boot_order'}", ""),
		Refused: "metadata.annotations[farrier.dev/cleanup]", Text: `"boot_order": supported values: "none", "metadata", "full", "boot-order", "bios-defaults"`,
	},
	{
		Name:    "two levels of cleaning on a Server",
		Object:  manifest("Server", "name: s-$n, annotations: {farrier.dev/cleanup: 'none,full'}", `spec: {systemUUID: ""}`),
		Refused: "metadata.annotations[farrier.dev/cleanup]", Text: "at most one of none, metadata, full",
	},
	{Name: "kernel arguments", Object: manifest("Server", "name: s-$n, annotations: {farrier.dev/kernel-args: 'console=ttyS1 quiet'}", `spec: {systemUUID: ""}`)},
	{
		Name:    "kernel arguments with a command behind them",
		Old:     manifest("Server", "name: s-$n", `spec: {systemUUID: ""}`),
		Object:  manifest("Server", `name: s-$n, annotations: {farrier.dev/kernel-args: "quiet\nshell"}`, `spec: {systemUUID: ""}`),
		Refused: "metadata.annotations[farrier.dev/kernel-args]", Text: "newline at byte 5",
	},
	{
		Name:    "kernel arguments that end their command",
		Object:  manifest("Server", `name: s-$n, annotations: {farrier.dev/kernel-args: "quiet || shell"}`, `spec: {systemUUID: ""}`),
		Refused: "metadata.annotations[farrier.dev/kernel-args]", Text: "would end the kernel command",
	},
	{Name: "an operation", Object: manifest("Server", `name: s-$n, annotations: {metal.ironcore.dev/operation: park}`, `spec: {systemUUID: ""}`)},
	{
		Name:     "an operation that is none",
		Object:   manifest("Server", `name: s-$n, annotations: {metal.ironcore.dev/operation: dance}`, `spec: {systemUUID: ""}`),
		Warnings: []string{`metadata.annotations[metal.ironcore.dev/operation]: "dance" is not an operation`},
	},
}

var bootCases = []Case{
	{
		Name:     "a boot configuration whose image is no reference",
		Object:   manifest("ServerBootConfiguration", "name: b, namespace: $ns", `spec: {serverRef: {name: s-$n}, image: "a b"}`),
		Warnings: []string{`spec.image: `},
	},
	{
		Name:   "an IPXEBootConfig with settings of iPXE in its URLs",
		Object: manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {kernelURL: "http://${next-server}/k", initrdURL: "${base}/i"}`),
		Warnings: []string{
			`spec.initrdURL: "${base}/i" has no scheme`,
		},
	},
	{
		Name:    "an IPXEBootConfig with a URL that is none",
		Object:  manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {kernelURL: "http://a:b/k", initrdURL: "http://a/i"}`),
		Refused: "spec.kernelURL", Text: "not a URL: invalid port",
	},
	{
		Name:    "an IPXEBootConfig with a space in its squashfs URL",
		Object:  manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {kernelURL: "http://a/k", initrdURL: "http://a/i", squashfsURL: "http://a/s ro"}`),
		Refused: "spec.squashfsURL", Text: "white space at byte 10",
	},
	{
		Name:    "an HTTPBootConfig with a setting of iPXE",
		Object:  manifest("HTTPBootConfig", "name: h, namespace: $ns", `spec: {ukiURL: "http://${next-server}/u"}`),
		Refused: "spec.ukiURL", Text: "not a URL",
	},
	{
		Name:     "an HTTPBootConfig with a file for firmware",
		Object:   manifest("HTTPBootConfig", "name: h, namespace: $ns", `spec: {networkIdentifiers: ["02:00:00:02:$n:01"], ukiURL: "file:///etc/passwd"}`),
		Warnings: []string{"spec.ukiURL: \"file:///etc/passwd\" is not an http:// or https:// URL"},
	},
	{
		Name:     "an HTTPBootConfig with an address that is none",
		Object:   manifest("HTTPBootConfig", "name: h, namespace: $ns", `spec: {networkIdentifiers: [not-an-ip], ukiURL: "http://a/u"}`),
		Warnings: []string{`spec.networkIdentifiers[0]: "not-an-ip" is not an IP or MAC address`},
	},
	{
		Name:     "an IPXEBootConfig with a UUID that is none",
		Object:   manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {systemUUID: x, kernelURL: "http://a/k", initrdURL: "http://a/i"}`),
		Warnings: []string{`spec.systemUUID: "x" is not the UUID of a machine`},
	},
	{
		Name:     "two IPXEBootConfigs for one machine",
		Given:    []string{manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {systemUUID: "4C4C4544-0043-3510-8052-B7C04F4E4E$n", kernelURL: "http://a/k", initrdURL: "http://a/i"}`)},
		Object:   manifest("IPXEBootConfig", "name: j, namespace: $ns", `spec: {systemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4e$n", kernelURL: "http://a/k", initrdURL: "http://a/i"}`),
		Warnings: []string{`spec: 4c4c4544-0043-3510-8052-b7c04f4e4e$n already has IPXEBootConfig "i"`},
	},
	{
		Name:     "two HTTPBootConfigs for one machine in namespaces that need not know of each other",
		Given:    []string{manifest("HTTPBootConfig", "name: hidden, namespace: farrier-system", `spec: {networkIdentifiers: ["02:00:00:01:$n:01"], ukiURL: "http://a/u"}`)},
		Object:   manifest("HTTPBootConfig", "name: j, namespace: $ns", `spec: {networkIdentifiers: ["020000-01$n01"], ukiURL: "http://a/u"}`),
		Warnings: []string{`spec: 02:00:00:01:$n:01 already has a HTTPBootConfig in another namespace`},
	},
	{
		Name:   "an IPXEBootConfig and an HTTPBootConfig for one machine",
		Given:  []string{manifest("HTTPBootConfig", "name: h, namespace: $ns", `spec: {systemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4e$n", ukiURL: "http://a/u"}`)},
		Object: manifest("IPXEBootConfig", "name: j, namespace: $ns", `spec: {systemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4e$n", kernelURL: "http://a/k", initrdURL: "http://a/i"}`),
	},
}
