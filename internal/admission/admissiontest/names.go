package admissiontest

// nameCases are names that no object can have. They were answered with 503, as if they were right at another time.
var nameCases = []Case{
	{
		Name:    "a claim of a Server with a path for a name",
		Object:  claimed("", `, serverRef: {name: "../x"}`),
		Refused: "spec.serverRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
	{
		Name:    "a claim whose ignition lies in another namespace",
		Object:  claimed("", `, ignitionSecretRef: {name: "x/y"}`),
		Refused: "spec.ignitionSecretRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
	{
		Name:    "a claim whose user data has a name of escapes",
		Object:  claimed("", `, userDataRef: {name: "x%2fy"}`),
		Refused: "spec.userDataRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
	{
		Name:    "a claim whose pull secret is a parent directory",
		Object:  claimed(`, annotations: {farrier.dev/image-pull-secret: ".."}`, ""),
		Refused: "metadata.annotations[farrier.dev/image-pull-secret]", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
	{
		Name:    "a claim that is given a bad name later",
		Old:     claimed("", ""),
		Object:  claimed("", `, serverRef: {name: "A B"}`),
		Refused: "spec.serverRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
	{
		Name:    "a claim of a Server without a name",
		Object:  claimed("", `, serverRef: {}`),
		Refused: "spec.serverRef.name", Text: "a claim for any Server must not set spec.serverRef",
	},
	{
		Name:    "a claim that is given a Server with an empty name later",
		Old:     claimed("", ""),
		Object:  claimed("", `, serverRef: {name: ""}`),
		Refused: "spec.serverRef.name", Text: "Required value",
	},
	{
		Name:     "a claim whose Secrets have no names",
		Object:   claimed("", `, ignitionSecretRef: {}, userDataRef: {name: ""}`),
		Warnings: []string{"spec.ignitionSecretRef: names nothing", "spec.userDataRef: names nothing"},
	},
	{
		Name:     "an IPXEBootConfig whose Secrets have no names",
		Object:   manifest("IPXEBootConfig", "name: i, namespace: $ns", `spec: {kernelURL: "http://a/k", initrdURL: "http://a/i", ignitionSecretRef: {}, ipxeScriptSecretRef: {name: ""}}`),
		Warnings: []string{"spec.ignitionSecretRef: names nothing", "spec.ipxeScriptSecretRef: names nothing"},
	},
	{
		Name:     "an HTTPBootConfig whose ignition has no name",
		Object:   manifest("HTTPBootConfig", "name: h, namespace: $ns", `spec: {ukiURL: "http://a/u", ignitionSecretRef: {}}`),
		Warnings: []string{"spec.ignitionSecretRef: names nothing"},
	},
	{
		Name:     "a boot configuration that names nothing",
		Object:   manifest("ServerBootConfiguration", "name: b, namespace: $ns", `spec: {serverRef: {}, ignitionSecretRef: {}}`),
		Warnings: []string{"spec.serverRef: names nothing", "spec.ignitionSecretRef: names nothing"},
	},
	{
		Name:     "a BMC that names nothing",
		Object:   manifest("BMC", "name: b-$n", `spec: {endpointRef: {}, bmcSecretRef: {}, protocol: {name: Redfish, port: 443}}`),
		Warnings: []string{"spec.endpointRef: names nothing", "spec.bmcSecretRef: names nothing"},
	},
	{
		Name:     "a Server that names nothing",
		Object:   manifest("Server", "name: s-$n", `spec: {systemUUID: "", bmcRef: {}, serverClaimRef: {namespace: "", name: ""}}`),
		Warnings: []string{"spec.bmcRef: names nothing", "spec.serverClaimRef: names nothing"},
	},
	{
		Name:     "a maintenance of nothing",
		Object:   manifest("ServerMaintenance", "name: m, namespace: $ns", `spec: {serverRef: {}, serverBootConfigurationTemplate: {name: b, spec: {serverRef: {}, image: "registry/os:1"}}}`),
		Warnings: []string{"spec.serverRef: names nothing"},
	},
	{
		Name:     "BIOS settings of nothing",
		Object:   manifest("BIOSSettings", "name: b-$n", `spec: {version: "1", serverRef: {}}`),
		Warnings: []string{"spec.serverRef: names nothing"},
	},
	{
		Name:   "a claim whose Secret had no name before",
		Old:    claimed("", `, ignitionSecretRef: {name: ""}`),
		Object: claimed(", labels: {a: b}", `, ignitionSecretRef: {name: ""}`),
	},
	{
		Name:    "a maintenance of a Server with a path for a name",
		Object:  manifest("ServerMaintenance", "name: m, namespace: $ns", `spec: {serverRef: {name: "a/b"}}`),
		Refused: "spec.serverRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
}
