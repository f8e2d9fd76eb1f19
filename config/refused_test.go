package config

import (
	"strings"
	"testing"
)

// What has to be refused, with the path of the field that is wrong. A case with old is an update.
var refused = []struct {
	name, kind, old, object string
	path, text              string
}{
	{
		name: "an Endpoint whose IP is none", kind: "Endpoint",
		object: `spec: {ip: 10.0.0.300}`, path: "spec.ip", text: "must be an IP address",
	},
	{
		name: "a claim whose ignition no Secret can be", kind: "ServerClaim",
		object: `spec: {power: "On", image: i, ignitionSecretRef: {name: x/y}}`, path: "spec.ignitionSecretRef.name", text: "should match",
	},
	{
		name: "a claim of a Server that none can be", kind: "ServerClaim",
		object: `spec: {power: "On", image: i, serverRef: {name: A}}`, path: "spec.serverRef.name", text: "should match",
	},
	{
		name: "a Profile whose Secret none can be", kind: "Profile",
		object: `spec: {ipxe: i, additionalContent: [{name: a, secretRef: {name: ../x, key: k}}]}`, path: "spec.additionalContent[0].secretRef.name", text: "should match",
	},
	{
		name: "a Profile whose Secret is in no Namespace", kind: "Profile",
		object: `spec: {ipxe: i, additionalContent: [{name: a, secretRef: {name: x, namespace: a.b, key: k}}]}`, path: "spec.additionalContent[0].secretRef.namespace", text: "should match",
	},
	{
		name: "a RolloutPolicy that lets nothing begin", kind: "RolloutPolicy",
		object: `spec: {maxUnavailable: {fleet: 0}}`, path: "spec.maxUnavailable.fleet", text: "must be a number from 1, or a percentage from 1% to 100%",
	},
	{
		name: "a RolloutPolicy with more than all", kind: "RolloutPolicy",
		object: `spec: {waves: [{upTo: 101%}]}`, path: "spec.waves[0].upTo", text: "must be a number from 1, or a percentage from 1% to 100%",
	},
	{
		name: "a RolloutPolicy that bakes for a day in words", kind: "RolloutPolicy",
		object: `spec: {waves: [{upTo: 1, bake: a day}]}`, path: "spec.waves[0].bake", text: "must be a duration, such as 1h30m",
	},
	{
		name: "a RolloutPolicy with a gate that nobody knows", kind: "RolloutPolicy",
		object: `spec: {waves: [{upTo: 1, gates: [Health, Luck]}]}`, path: "spec.waves[0].gates[1]", text: `supported values: "Health", "ProbeBoot"`,
	},
	{
		name: "a RolloutPolicy with a gate twice", kind: "RolloutPolicy",
		object: `spec: {waves: [{upTo: 1, gates: [Health, Health]}]}`, path: "spec.waves[0].gates[1]", text: "Duplicate value",
	},
	{
		name: "a RolloutPolicy whose window is open for ever", kind: "RolloutPolicy",
		object: `spec: {windows: [{start: "0 22 * * *", duration: 169h}]}`, path: "spec.windows[0].duration", text: "must be a duration from 1m to 168h, such as 6h",
	},
	{
		name: "a RolloutPolicy with a limit of no failures", kind: "RolloutPolicy",
		object: `spec: {failureLimits: [{reason: TaskFailed, limit: 0}]}`, path: "spec.failureLimits[0].limit", text: "should be greater than or equal to 1",
	},
	{
		name: "a FirmwareImage that goes back by a word of nobody", kind: "FirmwareImage",
		object: `spec: {version: "2", image: {URI: http://h/a}, rollback: {method: Undo}}`, path: "spec.rollback.method", text: "Unsupported value",
	},
	{
		name: "a FirmwareImage that goes back to no image", kind: "FirmwareImage",
		object: `spec: {version: "2", image: {URI: http://h/a}, rollback: {method: Reflash}}`, path: "spec.rollback.image", text: "must name a FirmwareImage with the method Reflash",
	},
	{
		name: "a FirmwareImage that goes back to an image by its bank", kind: "FirmwareImage",
		object: `spec: {version: "2", image: {URI: http://h/a}, rollback: {method: OtherBank, image: x}}`, path: "spec.rollback.image", text: "nothing with another one",
	},
	{
		name: "a FirmwareImage without a URI", kind: "FirmwareImage",
		object: `spec: {version: "2", image: {URI: ""}}`, path: "spec.image.URI", text: "from 1 to 2048 characters",
	},
	{
		name: "a FirmwareImage that requires a version from nowhere", kind: "FirmwareImage",
		object: `spec: {version: "2", image: {URI: http://h/a}, requires: {version: "1", image: ""}}`, path: "spec.requires.image", text: "at least 1 char",
	},
	{
		name: "an Endpoint whose IP is a prefix", kind: "Endpoint",
		object: `spec: {ip: 10.0.0.0/24}`, path: "spec.ip", text: "must be an IP address",
	},
	{
		name: "an Endpoint whose MAC is short", kind: "Endpoint",
		object: `spec: {macAddress: "02:fa:44:00:07"}`, path: "spec.macAddress", text: "should match",
	},
	{
		name: "a BMC with access and endpointRef", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, endpointRef: {name: a}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec", text: "exactly one of access or endpointRef needs to be set",
	},
	{
		name: "a BMC with neither access nor endpointRef", kind: "BMC",
		object: `spec: {bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec", text: "exactly one of access or endpointRef needs to be set",
	},
	{
		name: "a BMC that loses its endpointRef", kind: "BMC",
		old:    `spec: {endpointRef: {name: a}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec", text: "exactly one of access or endpointRef needs to be set",
	},
	{
		name: "a BMC whose endpointRef is switched", kind: "BMC",
		old:    `spec: {endpointRef: {name: a}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {endpointRef: {name: b}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec.endpointRef", text: "endpointRef is immutable",
	},
	{
		name: "a BMC whose access is changed", kind: "BMC",
		old:    `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {access: {ip: 192.0.2.2}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec.access", text: "access is immutable",
	},
	{
		name: "a BMC that loses its access", kind: "BMC",
		old:    `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec", text: "exactly one of access or endpointRef needs to be set",
	},
	{
		name: "a BMC at a port below all", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: -1}}`,
		path:   "spec.protocol.port", text: "greater than or equal to 0",
	},
	{
		name: "a BMC at a port above all", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 65536}}`,
		path:   "spec.protocol.port", text: "less than or equal to 65535",
	},
	{
		name: "a BMC with a scheme that nobody speaks", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443, scheme: gopher}}`,
		path:   "spec.protocol.scheme", text: "must be http or https",
	},
	{
		name: "a BMC with a console at a port that none is", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}, consoleProtocol: {name: SSH, port: -22}}`,
		path:   "spec.consoleProtocol.port", text: "greater than or equal to 0",
	},
	{
		name: "a Server with an inline BMC at a port that none is", kind: "Server",
		object: `spec: {systemUUID: "", bmc: {address: 192.0.2.1, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 70000}}}`,
		path:   "spec.bmc.protocol.port", text: "less than or equal to 65535",
	},
	{
		name: "a Server with an inline BMC with a scheme that nobody speaks", kind: "Server",
		object: `spec: {systemUUID: "", bmc: {address: 192.0.2.1, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443, scheme: httpx}}}`,
		path:   "spec.bmc.protocol.scheme", text: "must be http or https",
	},
	{
		name: "a Server whose UUID is a command", kind: "Server",
		object: `spec: {systemUUID: "; rm -rf /"}`, path: "spec.systemUUID", text: "must be a UUID",
	},
	{
		name: "a Server whose UUID is short", kind: "Server",
		object: `spec: {systemUUID: 4c4c4544-0043-3510-8052}`, path: "spec.systemUUID", text: "must be a UUID",
	},
	{
		name: "a Server whose UUID is endless", kind: "Server",
		object: `spec: {systemUUID: "` + strings.Repeat("4", 10000) + `"}`, path: "spec.systemUUID", text: "64",
	},
	{
		name: "an immutable BMCSecret with another password", kind: "BMCSecret",
		old:    `{immutable: true, data: {username: YQ==, password: YQ==}}`,
		object: `{immutable: true, data: {username: YQ==, password: Yg==}}`, path: "data", text: "data is immutable",
	},
	{
		name: "an immutable BMCSecret with one in plain text", kind: "BMCSecret",
		old:    `{immutable: true, data: {username: YQ==}}`,
		object: `{immutable: true, data: {username: YQ==}, stringData: {password: b}}`, path: "stringData", text: "stringData is immutable",
	},
	{
		name: "an immutable BMCSecret without data", kind: "BMCSecret",
		old: `{immutable: true, data: {username: YQ==}}`, object: `{immutable: true}`, path: "data", text: "data is immutable",
	},
	{
		name: "a BMCSecret that is immutable no longer", kind: "BMCSecret",
		old: `{immutable: true, data: {username: YQ==}}`, object: `{data: {username: YQ==}}`, path: "immutable", text: "immutable cannot be taken back",
	},
	{
		name: "a BMC whose spec is taken away", kind: "BMC",
		old:    `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `{}`, path: "spec", text: "spec is required",
	},
	{
		name: "a BMC whose IP is none", kind: "BMC",
		object: `spec: {access: {ip: bmc7}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		path:   "spec.access.ip", text: "must be an IP address",
	},
	{
		name: "a BMC without a protocol", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}}`, path: "spec.protocol", text: "Required",
	},
	{
		name: "a BMC with a console that nobody speaks", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}, consoleProtocol: {name: Telnet, port: 23}}`,
		path:   "spec.consoleProtocol.name", text: `supported values: "IPMI", "SSH", "SSHLenovo"`,
	},
	{
		name: "a Server without systemUUID", kind: "Server",
		object: `spec: {systemURI: /redfish/v1/Systems/1}`, path: "spec.systemUUID", text: "Required",
	},
	{
		name: "a Server switched to a claim of another name", kind: "Server",
		old:    `spec: {systemUUID: "", serverClaimRef: {namespace: a, name: a}}`,
		object: `spec: {systemUUID: "", serverClaimRef: {namespace: a, name: b}}`,
		path:   "spec.serverClaimRef.name", text: "self == oldSelf",
	},
	{
		name: "a Server switched to a claim of another namespace", kind: "Server",
		old:    `spec: {systemUUID: "", serverClaimRef: {namespace: a, name: a}}`,
		object: `spec: {systemUUID: "", serverClaimRef: {namespace: b, name: a}}`,
		path:   "spec.serverClaimRef.namespace", text: "self == oldSelf",
	},
	{
		name: "a Server with a reclaim policy that is none", kind: "Server",
		object: `spec: {systemUUID: "", reclaimPolicy: Delete}`, path: "spec.reclaimPolicy", text: `supported values: "Recycle", "Retain"`,
	},
	{
		name: "a Server with a taint without key", kind: "Server",
		object: `spec: {systemUUID: "", taints: [{key: ""}]}`, path: "spec.taints[0].key", text: "at least 1",
	},
	{
		name: "a Server with an unknown field", kind: "Server",
		object: `spec: {systemUUID: "", systemUuid: a}`, path: "spec.systemUuid", text: "unknown field",
	},
	{
		name: "a claim without an image", kind: "ServerClaim",
		object: `spec: {power: "On"}`, path: "spec.image", text: "Required",
	},
	{
		name: "a claim whose server is switched", kind: "ServerClaim",
		old:    `spec: {power: "On", image: i, serverRef: {name: a}}`,
		object: `spec: {power: "On", image: i, serverRef: {name: b}}`,
		path:   "spec.serverRef", text: "serverRef is immutable",
	},
	{
		name: "a claim that loses its server", kind: "ServerClaim",
		old:    `spec: {power: "On", image: i, serverRef: {name: a}}`,
		object: `spec: {power: "On", image: i}`, path: "spec", text: "serverRef is required once set",
	},
	{
		name: "a claim whose selector is changed", kind: "ServerClaim",
		old:    `spec: {power: "On", image: i, serverSelector: {matchLabels: {a: b}}}`,
		object: `spec: {power: "On", image: i, serverSelector: {matchLabels: {a: c}}}`,
		path:   "spec.serverSelector", text: "serverSelector is immutable",
	},
	{
		name: "a claim with a toleration that compares in no way", kind: "ServerClaim",
		object: `spec: {power: "On", image: i, tolerations: [{key: a, operator: In}]}`,
		path:   "spec.tolerations[0].operator", text: `supported values: "Equal", "Exists"`,
	},
	{
		name: "a boot configuration without a server", kind: "ServerBootConfiguration",
		object: `spec: {image: i}`, path: "spec.serverRef", text: "Required",
	},
	{
		name: "a maintenance that boots nothing named", kind: "ServerMaintenance",
		object: `spec: {serverRef: {name: a}, serverBootConfigurationTemplate: {spec: {serverRef: {name: a}}}}`,
		path:   "spec.serverBootConfigurationTemplate.name", text: "Required",
	},
	{
		name: "BIOS settings for another server", kind: "BIOSSettings",
		old:    `spec: {version: "1", serverRef: {name: a}}`,
		object: `spec: {version: "1", serverRef: {name: b}}`, path: "spec.serverRef", text: "serverRef is immutable",
	},
	{
		name: "BIOS settings that are retried for ever", kind: "BIOSSettings",
		object: `spec: {version: "1", retryPolicy: {maxAttempts: 11}}`, path: "spec.retryPolicy.maxAttempts", text: "less than or equal to 10",
	},
	{
		name: "BIOS settings with a step of priority 0", kind: "BIOSSettings",
		object: `spec: {version: "1", settingsFlow: [{name: a, priority: 0}]}`,
		path:   "spec.settingsFlow[0].priority", text: "greater than or equal to 1",
	},
	{
		name: "BMC settings for another BMC", kind: "BMCSettings",
		old:    `spec: {version: "1", BMCRef: {name: a}}`,
		object: `spec: {version: "1", BMCRef: {name: b}}`, path: "spec.BMCRef", text: "BMCRef is immutable",
	},
	{
		name: "BMC settings for no BMC", kind: "BMCSettings",
		object: `spec: {version: "1"}`, path: "spec.BMCRef", text: "Required",
	},
	{
		name: "BMC settings with two variables of one key", kind: "BMCSettings",
		object: `spec: {version: "1", BMCRef: {name: a}, variables: [{key: a, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {key: a, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}]}`,
		path:   "spec", text: "variable keys must be unique",
	},
	{
		name: "BMC settings with a variable from nowhere", kind: "BMCSettings",
		object: `spec: {version: "1", BMCRef: {name: a}, variables: [{key: a, valueFrom: {}}]}`,
		path:   "spec.variables[0].valueFrom", text: "exactly one of",
	},
	{
		name: "BMC settings with a variable from an object of another kind", kind: "BMCSettings",
		object: `spec: {version: "1", BMCRef: {name: a}, variables: [{key: a, valueFrom: {objectFieldRef: {kind: Secret, name: s, fieldPath: data.password}}}]}`,
		path:   "spec.variables[0].valueFrom", text: "objectFieldRef.kind must be 'BMC'",
	},
	{
		name: "an IPXEBootConfig with a command behind its kernel URL", kind: "IPXEBootConfig",
		object: `spec: {kernelURL: "http://a/k\nshell", initrdURL: http://a/i}`, path: "spec.kernelURL", text: "should match",
	},
	{
		name: "an IPXEBootConfig with a carriage return in its squashfs URL", kind: "IPXEBootConfig",
		object: `spec: {kernelURL: http://a/k, initrdURL: http://a/i, squashfsURL: "http://a/s\r"}`, path: "spec.squashfsURL", text: "should match",
	},
	{
		name: "an IPXEBootConfig without an initial RAM disk", kind: "IPXEBootConfig",
		object: `spec: {kernelURL: http://a/k}`, path: "spec.initrdURL", text: "initrdURL is required unless ipxeScriptSecretRef is set",
	},
	{
		name: "an IPXEBootConfig with an empty kernel URL", kind: "IPXEBootConfig",
		object: `spec: {kernelURL: "", initrdURL: http://a/i}`, path: "spec.kernelURL", text: "kernelURL is required unless ipxeScriptSecretRef is set",
	},
	{
		name: "an IPXEBootConfig that names no script", kind: "IPXEBootConfig",
		object: `spec: {ipxeScriptSecretRef: {}}`, path: "spec.kernelURL", text: "kernelURL is required unless ipxeScriptSecretRef is set",
	},
	{
		name: "an IPXEBootConfig of nothing", kind: "IPXEBootConfig",
		object: `{}`, path: "spec", text: "spec is required",
	},
	{
		name: "an HTTPBootConfig with a line break in its URL", kind: "HTTPBootConfig",
		object: `spec: {ukiURL: "http://a/u\n"}`, path: "spec.ukiURL", text: "should match",
	},
	{
		name: "a Profile without a script", kind: "Profile",
		object: `spec: {additionalConfig: {a: b}}`, path: "spec.ipxe", text: "Required",
	},
	{
		name: "a Profile with content from two places", kind: "Profile",
		object: `spec: {ipxe: "#!ipxe", additionalContent: [{name: a, inline: b, secretRef: {name: s, key: k}}]}`,
		path:   "spec.additionalContent[0]", text: "exactly one of inline, secretRef, configMapRef, webhook or objectRef needs to be set",
	},
	{
		name: "a Profile with two contents of one name", kind: "Profile",
		object: `spec: {ipxe: "#!ipxe", additionalContent: [{name: a, inline: b}, {name: a, inline: c}]}`,
		path:   "spec.additionalContent[1]", text: "Duplicate",
	},
	{
		name: "a Profile with a transform that is none", kind: "Profile",
		object: `spec: {ipxe: "#!ipxe", additionalContent: [{name: a, inline: b, transform: jinja}]}`,
		path:   "spec.additionalContent[0].transform", text: `supported values: "butane"`,
	},
	{
		name: "a Profile that asks a file", kind: "Profile",
		object: `spec: {ipxe: "#!ipxe", additionalContent: [{name: a, webhook: {url: "file:///etc/shadow"}}]}`,
		path:   "spec.additionalContent[0].webhook.url", text: "should match",
	},
	{
		name: "an Assignment with both selectors", kind: "Assignment",
		object: `spec: {subjectSelector: {uuid: a}, subjectSelectors: {uuid: [a]}, profileName: p}`,
		path:   "spec", text: "at most one of subjectSelector or subjectSelectors can be set",
	},
	{
		name: "an Assignment of nothing", kind: "Assignment",
		object: `spec: {subjectSelector: {uuid: a}}`,
		path:   "spec", text: "exactly one of profileSelectors or profileName needs to be set",
	},
}

func TestBadInputIsRefusedAtItsField(t *testing.T) {
	crds := loadCRDs(t)
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			if err := refusedAt(admitManifest(t, crds[c.kind], c.object, c.old), c.path, c.text); err != nil {
				t.Error(err)
			}
		})
	}
}

// What existing clients and manifests do, and has to go on working.
var admitted = []struct {
	name, kind, old, object string
}{
	{name: "an Endpoint of a client that writes empty strings", kind: "Endpoint", object: `spec: {ip: "", macAddress: ""}`},
	{name: "an Endpoint with an IPv6 address", kind: "Endpoint", object: `spec: {ip: "2001:db8::7"}`},
	{name: "a MAC with hyphens", kind: "Endpoint", object: `spec: {macAddress: 02-FA-44-00-00-07}`},
	{name: "a MAC with dots", kind: "Endpoint", object: `spec: {macAddress: 02fa.4400.0007}`},
	{name: "a MAC with nothing between", kind: "Endpoint", object: `spec: {macAddress: 02fa4400000a}`},
	{
		name: "a BMC whose endpointRef is replaced by access", kind: "BMC",
		old:    `spec: {endpointRef: {name: a}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
	},
	{
		name: "a BMC whose access is replaced by an endpointRef", kind: "BMC",
		old:    `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
		object: `spec: {endpointRef: {name: a}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}`,
	},
	{name: "a BMC at the usual port", kind: "BMC", object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 0, scheme: ""}}`},
	{name: "a scheme in capitals", kind: "BMC", object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443, scheme: HTTPS}}`},
	{name: "a BMC that speaks IPMI", kind: "BMC", object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: IPMI, port: 623}}`},
	{name: "a UUID in capitals", kind: "Server", object: `spec: {systemUUID: 4C4C4544-0043-3510-8052-B7C04F4E4D32}`},
	{name: "a UUID without hyphens", kind: "Server", object: `spec: {systemUUID: "{4c4c4544004335108052b7c04f4e4d32}"}`},
	{
		name: "a BMC of the earlier form", kind: "BMC",
		object: `spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}, bmcSettingsRef: {name: a}}`,
	},
	{name: "a BMC in a state that only its maker knows", kind: "BMC", object: `{spec: {access: {ip: 192.0.2.1}, bmcSecretRef: {name: a}, protocol: {name: Redfish, port: 443}}, status: {state: Deferring}}`},
	{name: "references that name nothing yet", kind: "ServerClaim", object: `spec: {power: "On", image: i, ignitionSecretRef: {}, userDataRef: {name: ""}, serverRef: {name: node-1.example.com}}`},
	{name: "a Server without a UUID", kind: "Server", object: `spec: {systemUUID: ""}`},
	{
		name: "a Server that is claimed", kind: "Server",
		old: `spec: {systemUUID: ""}`, object: `spec: {systemUUID: "", serverClaimRef: {namespace: a, name: a}}`,
	},
	{
		name: "a Server that is released", kind: "Server",
		old: `spec: {systemUUID: "", serverClaimRef: {namespace: a, name: a}}`, object: `spec: {systemUUID: ""}`,
	},
	{name: "memory as a number", kind: "Server", object: `{spec: {systemUUID: ""}, status: {totalSystemMemory: 1024}}`},
	{name: "memory as a quantity", kind: "Server", object: `{spec: {systemUUID: ""}, status: {totalSystemMemory: 1Gi}}`},
	{
		name: "a claim that binds", kind: "ServerClaim",
		old: `spec: {power: "On", image: i}`, object: `spec: {power: "On", image: i, serverRef: {name: a}}`,
	},
	{name: "an IPXEBootConfig with a script of its own", kind: "IPXEBootConfig", object: `spec: {ipxeScriptSecretRef: {name: s}}`},
	{name: "an IPXEBootConfig with fields that are ignored", kind: "IPXEBootConfig", object: `spec: {kernelURL: http://a/k, initrdURL: http://a/i, image: i, ipxeServerURL: http://a}`},
	{name: "an HTTPBootConfig with the older name", kind: "HTTPBootConfig", object: `spec: {systemIPs: [192.0.2.1]}`},
	{name: "a default Assignment", kind: "Assignment", object: `spec: {profileSelectors: {a: b}}`},
	{name: "an Assignment with keys of two slashes", kind: "Assignment", object: `spec: {profileSelectors: {assignment/ipxe/buildarch: arm64}}`},
}

func TestGoodInputIsAdmitted(t *testing.T) {
	crds := loadCRDs(t)
	for _, c := range admitted {
		t.Run(c.name, func(t *testing.T) {
			if errs := admitManifest(t, crds[c.kind], c.object, c.old); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}
