package v1alpha1

// Finalizers, one a kind, plus those of kinds that only older installations put on.
const (
	FinalizerEndpoint          = "metal.ironcore.dev/endpoint"
	FinalizerBMC               = "metal.ironcore.dev/bmc"
	FinalizerServer            = "metal.ironcore.dev/server"
	FinalizerServerClaim       = "metal.ironcore.dev/serverclaim"
	FinalizerServerMaintenance = "metal.ironcore.dev/servermaintenance"
	FinalizerBMCUser           = "metal.ironcore.dev/bmcuser"
	FinalizerBIOSSettings      = "metal.ironcore.dev/biossettings"
	FinalizerBIOSSettingsSet   = "metal.ironcore.dev/biossettingsset"
	FinalizerBIOSVersion       = "metal.ironcore.dev/biosversion"
	FinalizerBIOSVersionSet    = "metal.ironcore.dev/biosversionset"
	FinalizerBMCSettings       = "metal.ironcore.dev/bmcsettings"
	FinalizerBMCSettingsSet    = "metal.ironcore.dev/bmcsettingsset"
	FinalizerBMCVersion        = "metal.ironcore.dev/bmcversion"
	FinalizerBMCVersionSet     = "metal.ironcore.dev/bmcversionset"

	// FinalizerReadinessRule keeps a ServerReadinessRule until its taints are removed.
	FinalizerReadinessRule = "readiness.metal.ironcore.dev/cleanup-taints"
)
