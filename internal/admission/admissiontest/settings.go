package admissiontest

import "strings"

// settings are BIOS settings for no server, in a state.
func settings(metadata, version, flow, state string) string {
	return manifest("BIOSSettings", "name: b-$n"+metadata, `spec: {version: "`+version+`", settingsFlow: [{name: a, priority: 1, settings: {`+flow+`}}]}`+"\nstatus: {state: "+state+"}")
}

// allowed lets settings be changed while they are being applied.
const allowed = ", annotations: {metal.ironcore.dev/operation: allow-in-progress-update}"

// bmcSettings are BMC settings for a BMC that does not exist, in a state.
func bmcSettings(metadata, version, settings, state string) string {
	return manifest("BMCSettings", "name: s-$n"+metadata, `spec: {version: "`+version+`", BMCRef: {name: b-$n}, settings: {`+settings+`}}`+"\nstatus: {state: '"+state+"'}")
}

var settingsCases = []Case{
	{
		Name:    "BIOS settings that are changed while they are being applied",
		Old:     settings("", "1", "Quiet: 'true'", "InProgress"),
		Object:  settings("", "1", "Quiet: 'false'", "InProgress"),
		Refused: "spec.settingsFlow", Text: "metal.ironcore.dev/operation=allow-in-progress-update",
	},
	{
		Name:    "BIOS settings that are for another version while they are being applied",
		Old:     settings("", "1", "Quiet: 'true'", "InProgress"),
		Object:  settings("", "2", "Quiet: 'true'", "InProgress"),
		Refused: "spec.version", Text: "are being applied",
	},
	{
		Name:   "BIOS settings that are changed while they are being applied, as is meant",
		Old:    settings("", "1", "Quiet: 'true'", "InProgress"),
		Object: settings(allowed, "2", "Quiet: 'false'", "InProgress"),
	},
	{
		Name:   "BIOS settings that are labelled, and given a maintenance, while they are being applied",
		Old:    settings("", "1", "Quiet: 'true'", "InProgress"),
		Object: strings.Replace(settings(", labels: {a: b}", "1", "Quiet: 'true'", "InProgress"), "spec: {", "spec: {serverMaintenanceRef: {namespace: $ns, name: m}, ", 1),
	},
	{
		Name:   "BIOS settings that are changed when they have failed",
		Old:    settings("", "1", "Quiet: 'true'", "Failed"),
		Object: settings("", "2", "Quiet: 'false'", "Failed"),
	},
	{
		Name:     "BMC settings for a BMC that does not exist",
		Object:   bmcSettings("", "1", "a: b", ""),
		Warnings: []string{`spec.BMCRef: BMC "b-$n" does not exist`},
	},
	{
		Name:    "BMC settings for a BMC that others are for",
		Given:   []string{strings.Replace(bmcSettings("", "1", "a: b", ""), "name: s-$n", "name: a-$n", 1)},
		Object:  bmcSettings("", "1", "a: b", ""),
		Refused: "spec.BMCRef", Text: `BMCSettings "a-$n" is for the same BMC`,
	},
	{
		Name:    "BMC settings that are changed while they are being applied",
		Old:     bmcSettings("", "1", "a: b", "InProgress"),
		Object:  bmcSettings("", "1", "a: c", "InProgress"),
		Refused: "spec.settings", Text: "metal.ironcore.dev/operation=allow-in-progress-update",
	},
	{
		Name:    "BMC settings that are for another version while they are being applied",
		Old:     bmcSettings("", "1", "a: b", "InProgress"),
		Object:  bmcSettings("", "2", "a: b", "InProgress"),
		Refused: "spec.version", Text: "are being applied",
	},
	{
		Name:    "BMC settings that get a variable while they are being applied",
		Old:     bmcSettings("", "1", "a: $(B)", "InProgress"),
		Object:  strings.Replace(bmcSettings("", "1", "a: $(B)", "InProgress"), "spec: {", "spec: {variables: [{key: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], ", 1),
		Refused: "spec.variables", Text: "are being applied",
	},
	{
		Name:   "BMC settings that are labelled, and get another policy, while they are being applied",
		Old:    bmcSettings("", "1", "a: b", "InProgress"),
		Object: strings.Replace(bmcSettings(", labels: {a: b}", "1", "a: b", "InProgress"), "spec: {", "spec: {serverMaintenancePolicy: Enforced, ", 1),
	},
	{
		Name:   "BMC settings that are changed when they have failed",
		Old:    bmcSettings("", "1", "a: b", "Failed"),
		Object: bmcSettings("", "2", "a: c", "Failed"),
	},
	{
		Name:   "BMC settings that are changed while they are being applied, as is meant",
		Old:    bmcSettings("", "1", "a: b", "InProgress"),
		Object: bmcSettings(allowed, "2", "a: c", "InProgress"),
	},
	{
		Name:     "BMC settings of nothing",
		Object:   manifest("BMCSettings", "name: s-$n", `spec: {version: "1", BMCRef: {}}`),
		Warnings: []string{"spec.BMCRef: names nothing"},
	},
	{
		Name:     "BIOS settings two parts of whose flow have one name",
		Object:   manifest("BIOSSettings", "name: b-$n", `spec: {version: "1", settingsFlow: [{name: a, priority: 1}, {name: b, priority: 2}, {name: a, priority: 3}]}`),
		Warnings: []string{`spec.settingsFlow[2].name: "a" is also the name of spec.settingsFlow[0]; no setting is applied until all names differ`},
	},
}
