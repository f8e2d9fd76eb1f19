package v1alpha1

// Labels by which the owner of a claim and a maintenance come to terms. They stand on the
// ServerClaim.
const (
	// LabelMaintenanceNeeded tells the owner of a ServerClaim that a maintenance waits for approval. Farrier writes it.
	LabelMaintenanceNeeded = "metal.ironcore.dev/maintenance-needed"
	// LabelMaintenanceApproved approves the maintenance. The owner of the claim writes it.
	LabelMaintenanceApproved = "metal.ironcore.dev/maintenance-approved"
	// LabelMaintenanceApproval is the name of LabelMaintenanceApproved until metal-operator 0.5. Clients of that time write it.
	LabelMaintenanceApproval = "metal.ironcore.dev/maintenance-approval"
	// LabelMaintenanceRequested asks for a maintenance. The owner of the claim writes it.
	LabelMaintenanceRequested = "metal.ironcore.dev/maintenance-requested"
)

const (
	// LabelBMCSecrets, with the value LabelBMCSecretsAllowed, marks a namespace whose Secrets a BMCSecret may name.
	LabelBMCSecrets = "farrier.dev/bmc-secrets"
	// LabelBMCSecretsAllowed is the value of LabelBMCSecrets.
	LabelBMCSecretsAllowed = "allowed"
)

// LabelSite, on a Server, names its site. The server boots from the URLs that are configured for that site. On an Endpoint that was adopted it is the site of the
// boot server that leases the address.
const LabelSite = "farrier.dev/site"

// LabelShards, on the Leases of managers among which BMCs are divided, and of the shards, says into how many.
const LabelShards = "farrier.dev/shards"

// LabelWatchFilter names the installation that an object belongs to, by its --watch-filter, where several share a Kubernetes API. An object without the
// label belongs to the installation without a filter. Farrier gives the label to all that it makes.
const LabelWatchFilter = "metal.ironcore.dev/watch-filter"

const (
	// LabelAdopted, on an Endpoint, says that Farrier made it of a lease, and keeps its address up to date. Without the label the
	// Endpoint is its owner's.
	LabelAdopted = "farrier.dev/adopted"
	// LabelAdoptedDHCP is the value of LabelAdopted.
	LabelAdoptedDHCP = "dhcp"
)
