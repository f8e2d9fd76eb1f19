package v1alpha1

// Labels by which the owner of a claim and a maintenance come to terms. They stand on the
// ServerClaim.
const (
	// LabelMaintenanceNeeded says that a maintenance waits for the owner's approval.
	LabelMaintenanceNeeded = "metal.ironcore.dev/maintenance-needed"
	// LabelMaintenanceApproved is the owner's approval.
	LabelMaintenanceApproved = "metal.ironcore.dev/maintenance-approved"
	// LabelMaintenanceRequested is the owner's own wish for a maintenance.
	LabelMaintenanceRequested = "metal.ironcore.dev/maintenance-requested"
)

const (
	// LabelBMCSecrets, with the value LabelBMCSecretsAllowed, stands on a namespace whose Secrets a
	// BMCSecret may name.
	LabelBMCSecrets = "farrier.dev/bmc-secrets"
	// LabelBMCSecretsAllowed is the value of LabelBMCSecrets.
	LabelBMCSecretsAllowed = "allowed"
)

// LabelSite, on a Server, names the site it stands at: its boot URLs are those that are configured for the site.
const LabelSite = "farrier.dev/site"
