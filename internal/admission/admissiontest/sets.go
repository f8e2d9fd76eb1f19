package admissiontest

// settingsSet is a BIOSSettingsSet with a selector and a flow.
func settingsSet(metadata, selector, flow string) string {
	return manifest("BIOSSettingsSet", "name: s-$n"+metadata, `spec: {serverSelector: {`+selector+`}, biosSettingsTemplate: {version: "1", settingsFlow: [`+flow+`]}}`)
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
