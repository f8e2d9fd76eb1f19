package admissiontest

// following is a Set with annotations.
func following(annotations string) string {
	return settingsSet(", annotations: {"+annotations+"}", "matchLabels: {rack: r1}", "")
}

var rolloutCases = []Case{
	{
		Name:   "a rollout policy",
		Object: manifest("RolloutPolicy", "name: p-$n", `spec: {maxUnavailable: {fleet: 5%}, waves: [{upTo: 2, bake: 1h}], windows: [{start: "0 22 * * 1-5", duration: 6h, timeZone: Europe/Berlin}]}`),
	},
	{
		Name:    "a rollout policy whose window never opens",
		Object:  manifest("RolloutPolicy", "name: p-$n", `spec: {windows: [{start: "0 0 30 2 *", duration: 6h}]}`),
		Refused: "spec.windows[0]", Text: "never comes",
	},
	{
		Name:    "a rollout policy of a time zone that does not exist",
		Object:  manifest("RolloutPolicy", "name: p-$n", `spec: {windows: [{start: "0 22 * * *", duration: 6h}, {start: "0 22 * * *", duration: 6h, timeZone: Europe/Nowhere}]}`),
		Refused: "spec.windows[1]", Text: "Europe/Nowhere",
	},
	{
		Name:    "a rollout policy with the name of none",
		Object:  manifest("RolloutPolicy", "name: none", `spec: {paused: true}`),
		Refused: "metadata.name", Text: "goes by no policy",
	},
	{
		Name:   "a set that goes by a rollout policy",
		Given:  []string{manifest("RolloutPolicy", "name: q-$n", `spec: {paused: true}`)},
		Object: following("farrier.dev/rollout-policy: q-$n, farrier.dev/rollout: paused, farrier.dev/failures-accepted: 2@1"),
	},
	{
		Name:     "a set that goes by a rollout policy that does not exist",
		Object:   following("farrier.dev/rollout-policy: r-$n"),
		Warnings: []string{"does not exist: nothing begins until it does"},
	},
	{
		Name:   "a set that goes by no rollout policy",
		Object: following("farrier.dev/rollout-policy: none"),
	},
	{
		Name:    "a set whose rollout is held by a word that nobody knows",
		Object:  following("farrier.dev/rollout: pasued"),
		Refused: "metadata.annotations[farrier.dev/rollout]", Text: "pasued",
	},
	{
		Name:    "a set whose accepted failures are of no generation",
		Object:  following(`farrier.dev/failures-accepted: "2"`),
		Refused: "metadata.annotations[farrier.dev/failures-accepted]", Text: "2@1",
	},
}
