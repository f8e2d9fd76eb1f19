package admissiontest

// settingsSet is a BIOSSettingsSet with a selector and a flow.
func settingsSet(metadata, selector, flow string) string {
	return manifest("BIOSSettingsSet", "name: s-$n"+metadata, `spec: {serverSelector: {`+selector+`}, biosSettingsTemplate: {version: "1", settingsFlow: [`+flow+`]}}`)
}

// settingsSetOfBMCs is a BMCSettingsSet with a selector, versionSet a Set of versions.
func settingsSetOfBMCs(metadata, selector, template string) string {
	return manifest("BMCSettingsSet", "name: s-$n"+metadata, `spec: {bmcSelector: {`+selector+`}, bmcSettingsTemplate: {version: "1"`+template+`}}`)
}

func versionSet(kind, selectorName, templateName, metadata, selector string) string {
	return manifest(kind, "name: s-$n"+metadata, "spec: {"+selectorName+": {"+selector+"}, "+templateName+`: {version: "1", image: {URI: "http://h/a"}}}`)
}

func biosVersionSet(metadata, selector string) string {
	return versionSet("BIOSVersionSet", "serverSelector", "biosVersionTemplate", metadata, selector)
}

func bmcVersionSet(metadata, selector string) string {
	return versionSet("BMCVersionSet", "bmcSelector", "bmcVersionTemplate", metadata, selector)
}

const (
	oneRack      = "matchLabels: {rack: r1}"
	noOperator   = "matchExpressions: [{key: rack, operator: Like, values: [r]}]"
	noOperation  = ", annotations: {metal.ironcore.dev/operation: retry-children}"
	retryChild   = ", annotations: {metal.ironcore.dev/operation: retry-child}"
	noSuchPolicy = ", annotations: {farrier.dev/rollout-policy: r-$n}"
	unknownWord  = ", annotations: {farrier.dev/rollout: pasued}"
)

// otherSetCases hold the Sets that are not BIOSSettingsSets to the same rules.
var otherSetCases = []Case{
	{
		Name:   "a set of BMC settings",
		Object: settingsSetOfBMCs("", oneRack, `, settings: {a: $(B)}, variables: [{key: B, valueFrom: {configMapKeyRef: {namespace: $ns, name: c, key: k}}}]`),
	},
	{
		Name:    "a set of BMC settings with a selector of an operator that does not exist",
		Object:  settingsSetOfBMCs("", noOperator, ""),
		Refused: "spec.bmcSelector", Text: "Like",
	},
	{
		Name:    "a set of BMC settings whose selector is changed to one that nobody can read",
		Old:     settingsSetOfBMCs("", oneRack, ""),
		Object:  settingsSetOfBMCs("", noOperator, ""),
		Refused: "spec.bmcSelector", Text: "Like",
	},
	{
		Name:     "a set of the settings of all BMCs",
		Object:   settingsSetOfBMCs("", "", ""),
		Warnings: []string{"spec.bmcSelector: an empty selector selects all BMCs"},
	},
	{
		Name:   "a set of the settings of all BMCs that is labelled",
		Old:    settingsSetOfBMCs("", "", ""),
		Object: settingsSetOfBMCs(", labels: {a: b}", "", ""),
	},
	{
		Name:     "a set of BMC settings that is to do what nobody knows",
		Object:   settingsSetOfBMCs(noOperation, oneRack, ""),
		Warnings: []string{`"retry-children" is not an operation and will be removed`},
	},
	{
		Name:   "a set of BMC settings whose children are to try again",
		Object: settingsSetOfBMCs(retryChild, oneRack, ""),
	},
	{
		Name:     "a set of BMC settings that goes by a rollout policy that does not exist",
		Object:   settingsSetOfBMCs(noSuchPolicy, oneRack, ""),
		Warnings: []string{"does not exist: nothing begins until it does"},
	},
	{
		Name:    "a set of BMC settings whose rollout is held by a word that nobody knows",
		Object:  settingsSetOfBMCs(unknownWord, oneRack, ""),
		Refused: "metadata.annotations[farrier.dev/rollout]", Text: "pasued",
	},
	{
		Name:    "a set of BMC settings whose variable is of a Secret that cannot exist",
		Object:  settingsSetOfBMCs("", oneRack, `, variables: [{key: B, valueFrom: {secretKeyRef: {namespace: $ns, name: "a/b", key: k}}}]`),
		Refused: "spec.bmcSettingsTemplate.variables[0].valueFrom.secretKeyRef.name", Text: "a/b",
	},
	{
		Name: "a set of BMC settings whose variable is named by the one before it",
		Object: settingsSetOfBMCs("", oneRack, `, variables: [{key: A, valueFrom: {fieldRef: {fieldPath: spec.BMCRef.name}}}, `+
			`{key: B, valueFrom: {secretKeyRef: {namespace: "n-$(A)", name: "s-$(A)", key: k}}}, {key: C, valueFrom: {objectFieldRef: {kind: BMC, name: $(A), fieldPath: status.serialNumber}}}]`),
	},
	{
		Name:    "a set of BIOS versions with a selector of an operator that does not exist",
		Object:  biosVersionSet("", noOperator),
		Refused: "spec.serverSelector", Text: "Like",
	},
	{
		Name:     "a set of the BIOS versions of all servers, to do what nobody knows",
		Object:   biosVersionSet(noOperation, ""),
		Warnings: []string{"spec.serverSelector: an empty selector selects all Servers", `"retry-children" is not an operation and will be removed`},
	},
	{
		Name:    "a set of BIOS versions whose rollout is held by a word that nobody knows",
		Object:  biosVersionSet(unknownWord, oneRack),
		Refused: "metadata.annotations[farrier.dev/rollout]", Text: "pasued",
	},
	{
		Name:    "a set of BMC versions with a selector of an operator that does not exist",
		Object:  bmcVersionSet("", noOperator),
		Refused: "spec.bmcSelector", Text: "Like",
	},
	{
		Name:     "a set of the versions of all BMCs, to do what nobody knows",
		Object:   bmcVersionSet(noOperation, ""),
		Warnings: []string{"spec.bmcSelector: an empty selector selects all BMCs", `"retry-children" is not an operation and will be removed`},
	},
	{
		Name:    "a set of BMC versions whose rollout is held by a word that nobody knows",
		Object:  bmcVersionSet(unknownWord, oneRack),
		Refused: "metadata.annotations[farrier.dev/rollout]", Text: "pasued",
	},
}

var setCases = []Case{
	{
		Name:   "a set of BIOS settings",
		Object: settingsSet("", "matchLabels: {rack: r1}", "{name: a, priority: 1}"),
	},
	{
		Name:    "a set with a selector of an operator that does not exist",
		Object:  settingsSet("", "matchExpressions: [{key: rack, operator: Like, values: [r]}]", ""),
		Refused: "spec.serverSelector", Text: "Like",
	},
	{
		Name:    "a set with a selector whose label key is none",
		Object:  settingsSet("", `matchLabels: {"a/b/c": d}`, ""),
		Refused: "spec.serverSelector", Text: "a/b/c",
	},
	{
		Name:     "a set of all servers",
		Object:   settingsSet("", "", ""),
		Warnings: []string{"spec.serverSelector: an empty selector selects all Servers"},
	},
	{
		Name:   "a set of all servers that is labelled",
		Old:    settingsSet("", "", ""),
		Object: settingsSet(", labels: {a: b}", "", ""),
	},
	{
		Name:     "a set two parts of whose flow have one name",
		Object:   settingsSet("", "matchLabels: {rack: r1}", "{name: a, priority: 1}, {name: a, priority: 2}"),
		Warnings: []string{`spec.biosSettingsTemplate.settingsFlow[1].name: "a" is also the name of spec.biosSettingsTemplate.settingsFlow[0]; no setting is applied until all names differ`},
	},
	{
		Name:     "a set that is to do what nobody knows",
		Object:   settingsSet(", annotations: {metal.ironcore.dev/operation: retry-children}", "matchLabels: {rack: r1}", ""),
		Warnings: []string{`"retry-children" is not an operation and will be removed`},
	},
	{
		Name:   "a set whose children are to try again",
		Object: settingsSet(", annotations: {metal.ironcore.dev/operation: retry-child-and-self}", "matchLabels: {rack: r1}", ""),
	},
}
