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
		Name:    "a maintenance of a Server with a path for a name",
		Object:  manifest("ServerMaintenance", "name: m, namespace: $ns", `spec: {serverRef: {name: "a/b"}}`),
		Refused: "spec.serverRef.name", Text: "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
	},
}
