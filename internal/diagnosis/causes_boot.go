package diagnosis

import (
	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var usuallyRegistry = []string{
	"The registry is down, or its name does not resolve where Farrier runs.",
	"A proxy or a firewall between Farrier and the registry.",
	"The registry speaks plain HTTP, and --plain-http-registries does not name it.",
}

// configCauses say why a boot configuration cannot be booted.
var configCauses = []cause{
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonValidationFailed, status: no,
		cause: "Image {image} lacks a layer that a machine boots from: {message}.",
		next:  "Push an image with kernel and initramfs, or with a UKI; farrier image inspect shows what it has.",
		usual: []string{"It is an image for containers, which nobody can boot.", "It was packed with other media types than Farrier knows."},
	},
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonImageNotSigned, status: no,
		cause: "No trusted key has signed image {image}.", next: "Sign it, or name the key with --image-signature-keys (docs/security.md).",
	},
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonRegistryUnreachable, status: no,
		cause: "The registry of image {image} does not answer, so {server} cannot boot.",
		next:  "Bring the registry back, or correct the name of the image; Farrier tries again by itself.",
		usual: usuallyRegistry,
	},
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonImageNotResolved, status: no,
		cause: "The registry does not have image {image}, or does not give it to Farrier: {message}.",
		next:  "Correct the name of the image, or the pull secret; farrier image inspect asks as Farrier does.",
		usual: []string{"The tag is mistyped, or was deleted.", "The registry wants credentials.", "There is no manifest for the architecture of the machine.", "--allowed-registries does not name the registry."},
	},
	{
		condition: metalv1.ConditionSiteKnown, reason: metalv1.ReasonUnknownSite, status: no,
		cause: "The label farrier.dev/site of {server} names a site without boot URLs.", next: "Name the site with --boot-url, or correct the label.",
	},
	{
		condition: metalv1.ConditionReady, reason: "InvalidName", status: no,
		cause: "{config} refers to an object by a name that no object can have.", next: "Correct the name: {message}",
	},
	{
		condition: metalv1.ConditionReady, reason: "Error", status: no,
		cause: "{config} cannot be booted: {message}.", next: "Correct what the sentence before names; Farrier tries again by itself.",
	},
	{
		condition: metalv1.ConditionImageValidation, reason: "Resolving", status: unknown, waits: true,
		cause: "Farrier is still asking the registry for image {image}.", next: "Wait; a registry that does not answer is named after its time-out.",
		usual: usuallyRegistry,
	},
	{
		condition: metalv1.ConditionReady, reason: "Pending", status: no, waits: true,
		cause: "{config} is not ready yet: {message}.", next: "Wait; if it lasts longer than a minute, look at what it waits for.",
	},
	{
		condition: bootv1.ConditionBootServerReached, reason: bootv1.ReasonRefused, status: no,
		cause: "A boot server cannot use {config}, and goes on with what it had.", next: "Update the boot servers, or look at: {message}",
	},
	{
		condition: bootv1.ConditionBootServerReached, reason: bootv1.ReasonNoBootServer, status: no, weight: beside,
		cause: "No boot server of the site of {server} was connected when its boot was ordered.", next: "Start a boot server there: farrier boot-servers lists them.",
	},
	{
		condition: bootv1.ConditionBootServerReached, reason: bootv1.ReasonNotAcknowledged, status: no, weight: beside,
		cause: "No boot server of the site of {server} confirmed its boot in time.", next: "Look at the boot servers: farrier boot-servers.",
	},
	{
		condition: metalv1.ConditionBootServerHasImage, reason: metalv1.ReasonNotFetched, status: no, weight: beside,
		cause: "A boot server of the site of {server} cannot fetch image {image}.", next: "Look at its registry and its keys: {message}",
	},
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonRegistryUnreachable, status: yes, weight: beside,
		cause: "The registry of image {image} does not answer, and {server} boots the last known image.", next: "Bring the registry back.",
		usual: usuallyRegistry,
	},
	{
		condition: metalv1.ConditionImageValidation, reason: metalv1.ReasonImageNotSigned, status: yes, weight: beside,
		cause: "No trusted key has signed the newest image {image}, and {server} boots the last signed one.", next: "Sign it (docs/security.md).",
	},
}

// claimCauses say why a claim has no server, or its server does not boot.
var claimCauses = []cause{
	{
		condition: metalv1.ConditionBound, reason: metalv1.ReasonNoMatchingServer, status: no,
		cause: "No Server matches the selector of {claim}.", next: "Correct spec.serverSelector of {claim}, or label a Server.",
		usual: []string{"A label of the selector is mistyped.", "The Servers were not labelled when they were discovered."},
	},
	{
		condition: metalv1.ConditionBound, reason: metalv1.ReasonTaintNotTolerated, status: no,
		cause: "The Servers that match {claim} have a taint that it does not tolerate.", next: "Remove the taint, or add a toleration to {claim}: {message}",
	},
	{
		condition: metalv1.ConditionBound, reason: metalv1.ReasonAllMatchingServersBusy, status: no, waits: true,
		cause: "Every Server that matches {claim} is taken or not ready: {message}.", next: "Wait until one is free, or add servers; farrier why SERVER explains one of them.",
	},
	{
		condition: metalv1.ConditionBound, reason: "ServerNotFound", status: no,
		cause: "{claim} names a Server that does not exist.", next: "Correct spec.serverRef of {claim}.",
	},
	{
		condition: metalv1.ConditionBound, reason: "ServerNotClaimable", status: no,
		cause: "No claim may take the Servers that match {claim}: {message}.", next: "Unpark them, or set spec.unclaimable to false.",
	},
	{
		condition: metalv1.ConditionBound, reason: "SelectorInvalid", status: no,
		cause: "The selector of {claim} cannot be read.", next: "Correct spec.serverSelector: {message}",
	},
	{
		condition: metalv1.ConditionBound, reason: "SelectorMismatch", status: no,
		cause: "The Server that {claim} names does not match its own selector.", next: "Correct spec.serverRef or spec.serverSelector of {claim}.",
	},
	{
		condition: metalv1.ConditionBound, reason: "InvalidName", status: no,
		cause: "{claim} has a name that its Server could not refer to.", next: "Make a claim with another name: {message}",
	},
	{
		condition: metalv1.ConditionBootReady, reason: "BootConfigurationTaken", status: no,
		cause: "Another object has the ServerBootConfiguration that {claim} needs.", next: "Delete it, or name the claim differently: {message}",
	},
	{
		condition: metalv1.ConditionBootReady, reason: metalv1.ReasonInvalidSpec, status: no,
		cause: "The spec of {claim} cannot be carried out.", next: "Correct it: {message}",
	},
	{
		condition: metalv1.ConditionBootReady, reason: "InvalidName", status: no,
		cause: "{claim} refers to an ignition Secret by a name that no object can have.", next: "Correct spec.ignitionSecretRef: {message}",
	},
	{
		condition: metalv1.ConditionBootReady, reason: "BootConfigurationError", status: no, weight: beside,
		cause: "The boot configuration of {claim} cannot be booted: {message}.", next: "Correct what the sentence before names; Farrier tries again by itself.",
	},
}
