package admissiontest

const ipxeAPI = "apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1\n"

func profileOf(spec string) string {
	return ipxeAPI + "kind: Profile\nmetadata: {name: p, namespace: $ns}\nspec: {" + spec + "}"
}

func assignmentOf(name, spec string) string {
	return ipxeAPI + "kind: Assignment\nmetadata: {name: " + name + ", namespace: $ns}\nspec: {" + spec + "}"
}

// existing is a profile that assignments name.
var existing = profileOf(`ipxe: "#!ipxe\nboot\n"`)

var ipxeCases = []Case{
	{Name: "a Profile in three dialects", Object: profileOf(`ipxe: "#!ipxe\nchain {{ a }} {{ .a }} {{ .AdditionalContent.b }}\n", additionalConfig: {a: x}, additionalContent: [{name: b, inline: text, exposed: true}]`)},
	{Name: "a script that begins in another way", Object: profileOf(`ipxe: "\n# ipxe\nboot\n"`)},
	{Name: "a script that iPXE would not know", Object: profileOf(`ipxe: "boot\n"`), Refused: "spec.ipxe", Text: "does not begin with #!ipxe"},
	{Name: "a template that does not parse", Object: profileOf(`ipxe: "#!ipxe\n{{ .a\n"`), Refused: "spec.ipxe", Text: "unclosed action"},
	{Name: "a template that names no config", Object: profileOf(`ipxe: "#!ipxe\n{{ .b }}\n", additionalConfig: {a: x}`), Refused: "spec.ipxe", Text: `there is no config "b"`},
	{
		Name:    "a stored template is refused when a config that it names goes",
		Old:     profileOf(`ipxe: "#!ipxe\n{{ .a }}\n", additionalConfig: {a: x}`),
		Object:  profileOf(`ipxe: "#!ipxe\n{{ .a }}\n"`),
		Refused: "spec.ipxe", Text: `there is no config "a"`,
	},
	{Name: "a config that is there twice", Object: profileOf(`ipxe: "#!ipxe\n", additionalConfig: {a: x}, additionalContent: [{name: a, inline: text}]`), Refused: "spec.additionalContent[0].name", Text: "additionalConfig has"},
	{Name: "a config whose name begins a line", Object: profileOf(`ipxe: "#!ipxe\n", additionalConfig: {"a\nb": x}`), Refused: "spec.additionalConfig[a\nb]", Text: "control"},
	{
		Name:    "a webhook with credentials in its URL",
		Object:  profileOf(`ipxe: "#!ipxe\n", additionalContent: [{name: a, webhook: {url: "https://u:p@example.com/"}}]`),
		Refused: "spec.additionalContent[0].webhook.url", Text: "basicAuth",
	},
	{
		Name: "a Profile in the words of a later version",
		Object: profileOf(`ipxeTemplate: "#!ipxe\nchain {{ .AdditionalContent.a }} {{ .AdditionalContent.b }}\n", additionalContent: [` +
			`{name: a, exposed: true, postTransformations: [{butaneToIgnition: true}], objectRef: {group: "", version: v1, resource: secrets, namespace: $ns, name: s, jsonpath: .data.k}}, ` +
			`{name: b, postTransformations: [], webhook: {url: "https://example.com/", mTLSRef: {group: "", version: v1, resource: secrets, namespace: $ns, name: s, clientKeyJSONPath: .data.k, ` +
			`clientCertJSONPath: .data.c, tlsInsecureSkipVerify: false}, basicAuthRef: {group: "", version: v1, resource: secrets, namespace: $ns, name: s, usernameJSONPath: .data.u, passwordJSONPath: .data.p}}}]`),
	},
	{
		Name:    "a transformation by a webhook, which there is in a later version",
		Object:  profileOf(`ipxeTemplate: "#!ipxe\n", additionalContent: [{name: a, inline: x, postTransformations: [{butaneToIgnition: false, webhook: {url: "https://example.com/", mTLSRef: {a: b}}}]}]`),
		Refused: "spec.additionalContent[0].postTransformations[0].webhook", Text: "farrier import manifests",
	},
	{
		Name:    "a server that nobody verifies",
		Object:  profileOf(`ipxeTemplate: "#!ipxe\n", additionalContent: [{name: a, webhook: {url: "https://example.com/", mTLSRef: {resource: secrets, name: s, clientKeyJSONPath: .data.k, clientCertJSONPath: .data.c, tlsInsecureSkipVerify: true}}}]`),
		Refused: "spec.additionalContent[0].webhook.mTLSRef.tlsInsecureSkipVerify", Text: "caBundleJSONPath",
	},
	{
		Name:    "a template of a later version that names what no template can",
		Object:  profileOf(`ipxeTemplate: "#!ipxe\n{{ .AdditionalContent.a-b }}\n", additionalContent: [{name: a-b, inline: x}]`),
		Refused: "spec.ipxeTemplate", Text: "farrier import manifests",
	},
	{
		Name:     "a login of another namespace, in the words of a later version",
		Object:   profileOf(`ipxe: "#!ipxe\n", additionalContent: [{name: a, webhook: {url: "https://example.com/", basicAuthRef: {resource: secrets, namespace: kube-system, name: x, usernameJSONPath: .data.u, passwordJSONPath: .data.p}}}]`),
		Warnings: []string{"spec.additionalContent[0].webhook.basicAuthRef: the object is in another namespace"},
	},
	{
		Name:   "a default of a later version",
		Given:  []string{existing},
		Object: assignmentOf("a", `subjectSelectors: {buildarch: [arm64], uuidList: []}, isDefault: true, profileName: p, priority: 7190`),
	},
	{
		Name:     "a default of a later version that names machines",
		Given:    []string{existing},
		Object:   assignmentOf("a", `subjectSelectors: {buildarch: [arm64], uuidList: ["4c4c4544-0043-3510-8052-b7c04f4e4d$n"]}, isDefault: true, profileName: p, priority: 7191`),
		Warnings: []string{"spec.subjectSelectors[uuidList]: is ignored"},
	},
	{
		Name:     "an Assignment of a later version that selects nothing",
		Given:    []string{existing},
		Object:   assignmentOf("a", `subjectSelectors: {buildarch: [], uuidList: []}, isDefault: false, profileName: p, priority: 7192`),
		Warnings: []string{"matches no machine"},
	},
	{
		Name:     "a webhook on the manager's own host",
		Object:   profileOf(`ipxe: "#!ipxe\n", additionalContent: [{name: a, webhook: {url: "http://127.0.0.1/"}}]`),
		Warnings: []string{"--webhook-hosts"},
	},
	{
		Name:     "a Secret of another namespace",
		Object:   profileOf(`ipxe: "#!ipxe\n", additionalContent: [{name: a, secretRef: {namespace: kube-system, name: x, key: k}}]`),
		Warnings: []string{"farrier.dev/allow-profiles-from"},
	},
	{
		Name:   "an Assignment",
		Given:  []string{existing},
		Object: assignmentOf("a", `subjectSelector: {uuid: "4C4C4544-0043-3510-8052-B7C04F4E4D$n", assignment/extrinsic-region: eu}, profileName: p`),
	},
	{Name: "an Assignment of a Profile that is not there", Object: assignmentOf("a", `subjectSelector: {asset: "$ns"}, profileName: gone`), Warnings: []string{`Profile "gone" does not exist`}},
	{
		Name:    "one label in two spellings that contradict each other",
		Given:   []string{existing},
		Object:  assignmentOf("a", `subjectSelector: {serial: a, serialNumber: b}, profileName: p`),
		Refused: "spec.subjectSelector[serialNumber]", Text: `the same label as "serial"`,
	},
	{
		Name:     "one label in two spellings that agree",
		Given:    []string{existing},
		Object:   assignmentOf("a", `subjectSelector: {serial: $ns, serialNumber: $ns}, profileName: p`),
		Warnings: []string{`is the same label as "serial"`},
	},
	{
		Name:    "a value that begins a line",
		Given:   []string{existing},
		Object:  assignmentOf("a", `subjectSelectors: {serial: ["a\nboot"]}, profileName: p`),
		Refused: "spec.subjectSelectors[serial]", Text: "control characters",
	},
	{Name: "a label that no machine says", Given: []string{existing}, Object: assignmentOf("a", `subjectSelector: {colour: "$ns"}, profileName: p`), Warnings: []string{"machines do not report this label"}},
	{Name: "an empty value", Given: []string{existing}, Object: assignmentOf("a", `subjectSelector: {serial: "", uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: p`), Warnings: []string{"an empty value"}},
	{Name: "a placeholder", Given: []string{existing}, Object: assignmentOf("a", `subjectSelector: {serial: To Be Filled By O.E.M., asset: "$ns"}, profileName: p`), Warnings: []string{"placeholder of a vendor"}},
	{Name: "what is no UUID", Given: []string{existing}, Object: assignmentOf("a", `subjectSelector: {uuid: "x$ns"}, profileName: p`), Warnings: []string{"is not a UUID"}},
	{Name: "an architecture that nobody has", Given: []string{existing}, Object: assignmentOf("a", `subjectSelector: {arch: sparc, asset: "$ns"}, profileName: p`), Warnings: []string{`no architecture "sparc"`}},
	{
		Name:     "another profile for the same machines, spelled in another way",
		Given:    []string{existing, assignmentOf("b", `subjectSelector: {uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: q`)},
		Object:   assignmentOf("a", `subjectSelectors: {UUIDs: ["4C4C4544-0043-3510-8052-B7C04F4E4D$n"]}, profileName: p`),
		Warnings: []string{`spec.subjectSelectors: Assignment "b" selects the same machines at the same priority and gives them another profile; the older one serves`},
	},
	{
		Name:   "the same profile for the same machines",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: p`)},
		Object: assignmentOf("a", `subjectSelector: {uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: p`),
	},
	{
		Name:   "another profile for the same machines, at another priority",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: q`)},
		Object: assignmentOf("a", `subjectSelector: {uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"}, profileName: p, priority: 1`),
	},
}

// one is a machine of the case alone.
const one = `uuid: "4c4c4544-0043-3510-8052-b7c04f4e4d$n"`

// Assignments by attributes overlap with those of all cases, so each of these cases has a priority of its own. What is asked for is named z: where
// nobody wrote down when they came, the name decides of two that are made in one second.
var overlapCases = []Case{
	{
		Name:     "some machines of another Assignment, that is the older",
		Given:    []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Object:   assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileName: p`),
		Warnings: []string{`some machines are also selected by Assignment "b", at the same priority, and neither is more specific: those machines boot by it`},
	},
	{
		Name:     "some machines of another Assignment, that names fewer labels",
		Given:    []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Object:   assignmentOf("z", `subjectSelectors: {UUIDs: ["4C4C4544-0043-3510-8052-B7C04F4E4D$n"], platform: [efi], manufacturer: [x]}, profileName: p`),
		Warnings: []string{`some machines are also selected by Assignment "b", at the same priority, and neither is more specific: those machines now boot by this Assignment`},
	},
	{
		Name:     "machines by other attributes",
		Given:    []string{existing, assignmentOf("b", `subjectSelector: {buildarch: arm64}, profileName: q, priority: 7101`)},
		Object:   assignmentOf("z", `subjectSelector: {manufacturer: x}, profileName: p, priority: 7101`),
		Warnings: []string{`Assignment "b"`},
	},
	{
		Name: "some machines of many Assignments",
		Given: []string{
			existing, assignmentOf("b", `subjectSelector: {buildarch: arm64}, profileName: q, priority: 7102`),
			assignmentOf("c", `subjectSelector: {buildarch: i386}, profileName: q, priority: 7102`),
			assignmentOf("d", `subjectSelector: {buildarch: x86_64}, profileName: q, priority: 7102`),
			assignmentOf("e", `subjectSelector: {buildarch: riscv64}, profileName: q, priority: 7102`),
		},
		Object:   assignmentOf("z", `subjectSelector: {manufacturer: x}, profileName: p, priority: 7102`),
		Warnings: []string{`Assignment "b", "c", "`},
	},
	{
		Name: "some machines of an Assignment in another namespace",
		Given: []string{existing, ipxeAPI + "kind: Assignment\nmetadata: {name: secret-$n, namespace: default}\n" +
			`spec: {subjectSelector: {buildarch: arm64}, profileSelectors: {a: b}, priority: 7103}`},
		Object:   assignmentOf("z", `subjectSelector: {manufacturer: x}, profileName: p, priority: 7103`),
		Warnings: []string{"some machines are also selected by an Assignment in another namespace"},
	},
	{
		Name:     "an Assignment that is made to overlap with another",
		Given:    []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Old:      assignmentOf("z", `subjectSelector: {asset: "$ns"}, profileName: p`),
		Object:   assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileName: p`),
		Warnings: []string{`Assignment "b"`},
	},
	{
		Name:   "an Assignment that overlaps as before",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Old:    assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileName: p`),
		Object: assignmentOf(`z, labels: {x: "1"}`, `subjectSelector: {`+one+`, platform: efi}, profileName: p`),
	},
	{
		Name:   "fewer machines than another Assignment",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {`+one+`}, profileName: q`)},
		Object: assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileName: p`),
	},
	{
		Name:   "the same machine by another architecture",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Object: assignmentOf("z", `subjectSelector: {`+one+`, buildarch: x86_64, platform: efi}, profileName: p`),
	},
	{
		Name:   "some machines of another Assignment, at another priority",
		Given:  []string{existing, assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileName: q`)},
		Object: assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileName: p, priority: 1`),
	},
	{
		Name:   "some machines of another Assignment, and the same labels of Profiles",
		Given:  []string{assignmentOf("b", `subjectSelector: {`+one+`, buildarch: arm64}, profileSelectors: {a: b, c: d}`)},
		Object: assignmentOf("z", `subjectSelector: {`+one+`, platform: efi}, profileSelectors: {c: d, a: b}`),
	},
}

// labelled is a profile that assignments select.
const labelled = ipxeAPI + "kind: Profile\nmetadata: {name: p, namespace: $ns, labels: {assignment/ipxe-buildarch: arm64, x: \"y\"}}\n" + `spec: {ipxe: "#!ipxe\nboot\n"}`

var deletionCases = []Case{
	{
		Name:     "the deletion of a Profile that an Assignment names",
		Given:    []string{assignmentOf("a", `subjectSelector: {`+one+`}, profileName: p, priority: 7201`), assignmentOf("b", `subjectSelector: {`+one+`}, profileName: q`)},
		Object:   existing,
		Deleted:  true,
		Warnings: []string{`metadata.name: Assignments that use this Profile: 1 ("a"); their machines wait until they have a Profile again`},
	},
	{
		Name: "the deletion of a Profile that Assignments select",
		Given: []string{
			assignmentOf("a", `subjectSelector: {`+one+`}, profileSelectors: {assignment/ipxe-buildarch: arm64}`),
			assignmentOf("b", `subjectSelector: {`+one+`}, profileSelectors: {x: "y", assignment/ipxe-buildarch: arm64}, priority: 7202`),
			assignmentOf("c", `subjectSelector: {`+one+`}, profileSelectors: {x: "y", assignment/ipxe-buildarch: i386}, priority: 7203`),
		},
		Object:   labelled,
		Deleted:  true,
		Warnings: []string{`Assignments that use this Profile: 2 ("a", "b");`},
	},
	{
		Name: "the deletion of a Profile that many Assignments have",
		Given: []string{
			assignmentOf("a", `subjectSelector: {`+one+`}, profileName: p, priority: 7204`), assignmentOf("b", `subjectSelector: {`+one+`}, profileName: p, priority: 7205`),
			assignmentOf("c", `subjectSelector: {`+one+`}, profileName: p, priority: 7206`), assignmentOf("d", `subjectSelector: {`+one+`}, profileName: p, priority: 7207`),
			assignmentOf("e", `subjectSelector: {`+one+`}, profileSelectors: {x: "y"}, priority: 7208`),
		},
		Object:   labelled,
		Deleted:  true,
		Warnings: []string{`Assignments that use this Profile: 5 ("a", "b", "c" and 2 more)`},
	},
	{
		Name:    "the deletion of a Profile that nothing has",
		Given:   []string{assignmentOf("a", `subjectSelector: {`+one+`}, profileName: q`)},
		Object:  existing,
		Deleted: true,
	},
	{Name: "the deletion of what no rule is about", Object: assignmentOf("a", `subjectSelector: {`+one+`}, profileName: q`), Deleted: true},
}
