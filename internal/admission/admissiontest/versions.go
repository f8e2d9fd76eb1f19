package admissiontest

// version is a BIOSVersion in a state.
func version(metadata, version, image, state string) string {
	return manifest("BIOSVersion", "name: v-$n"+metadata, `spec: {version: "`+version+`", image: {URI: "`+image+`"}}`+"\nstatus: {state: "+state+"}")
}

var versionCases = []Case{
	{
		Name:    "a version that is changed while its update is under way",
		Old:     version("", "1", "http://h/a", "InProgress"),
		Object:  version("", "2", "http://h/a", "InProgress"),
		Refused: "spec.version", Text: "metal.ironcore.dev/operation=allow-in-progress-update",
	},
	{
		Name:    "another image while an update is under way",
		Old:     version("", "1", "http://h/a", "InProgress"),
		Object:  version("", "1", "http://h/b", "InProgress"),
		Refused: "spec.image", Text: "is under way",
	},
	{
		Name:   "another image while an update is under way, as is meant",
		Old:    version("", "1", "http://h/a", "InProgress"),
		Object: version(allowed, "1", "http://h/b", "InProgress"),
	},
	{
		Name:   "another image when the update has failed",
		Old:    version("", "1", "http://h/a", "Failed"),
		Object: version("", "2", "http://h/b", "Failed"),
	},
	{
		Name:     "a version of the BIOS of a server that is not there",
		Object:   manifest("BIOSVersion", "name: v-$n", `spec: {version: "1", image: {URI: "http://h/a"}, serverRef: {name: s-$n}}`),
		Warnings: []string{`spec.serverRef: Server "s-$n" does not exist`},
	},
	{
		Name:    "a second version of one BIOS",
		Given:   []string{manifest("BIOSVersion", "name: w-$n", `spec: {version: "1", image: {URI: "http://h/a"}, serverRef: {name: s-$n}}`)},
		Object:  manifest("BIOSVersion", "name: v-$n", `spec: {version: "2", image: {URI: "http://h/a"}, serverRef: {name: s-$n}}`),
		Refused: "spec.serverRef", Text: `BIOSVersion "w-$n" is for it already`,
	},
	{
		Name:     "a version of a BMC that is not there",
		Object:   manifest("BMCVersion", "name: v-$n", `spec: {version: "1", image: {URI: "http://h/a"}, bmcRef: {name: b-$n}}`),
		Warnings: []string{`spec.bmcRef: BMC "b-$n" does not exist`},
	},
	{
		Name:    "a second version of one BMC",
		Given:   []string{manifest("BMCVersion", "name: w-$n", `spec: {version: "1", image: {URI: "http://h/a"}, bmcRef: {name: b-$n}}`)},
		Object:  manifest("BMCVersion", "name: v-$n", `spec: {version: "2", image: {URI: "http://h/a"}, bmcRef: {name: b-$n}}`),
		Refused: "spec.bmcRef", Text: `BMCVersion "w-$n" is for it already`,
	},
	{
		Name:   "a version of nothing",
		Object: manifest("BMCVersion", "name: v-$n", `spec: {version: "1", image: {URI: "http://h/a"}}`),
	},
}
