package diagnosis

import metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"

// retry is what many causes end with.
const retry = "kubectl annotate server {name} metal.ironcore.dev/operation=retry"

var usuallyDisk = []string{
	"The disk is defective: look at its SMART data, and replace it.",
	"The disk is locked (ATA security, SED), or a RAID controller hides it.",
	"The disk was removed: name it in the annotation farrier.dev/disks-removed.",
}

var serverCauses = []cause{
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonAuthenticationFailed, status: no,
		cause: "{bmc} at {address} refuses the user name or the password that {server} names for it.",
		next:  "Write the right user name and password into the BMCSecret; Farrier tries again by itself.",
		usual: usuallyPassword,
	},
	{
		condition: metalv1.ConditionReady, reason: "NoBMC", status: no,
		cause: "{server} names no BMC, and Farrier can do nothing without one.", next: "Set spec.bmcRef or spec.bmc of {server}.",
	},
	{
		condition: metalv1.ConditionReady, reason: "BMCNotFound", status: no,
		cause: "{server} names a BMC that does not exist.", next: "Create that BMC, or correct spec.bmcRef of {server}.",
	},
	{
		condition: metalv1.ConditionReady, reason: "SystemNotFound", status: no,
		cause: "{bmc} answers, but does not know the system of {server}.", next: "Correct spec.systemUUID or spec.systemURI of {server}, or delete it: Farrier makes a new one for what the BMC has.",
		usual: []string{"The board was replaced and has another UUID.", "The machine was moved to another slot or chassis."},
	},
	{
		condition: metalv1.ConditionReady, reason: "SystemAmbiguous", status: no,
		cause: "Several systems of {bmc} report the UUID of {server}, so Farrier does not know which to switch.", next: "Set spec.systemURI of {server}.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonNoBootOverride, status: no,
		cause: "{bmc} cannot set what {server} boots, so Farrier cannot boot it.", next: "Update the firmware of the BMC, or licence its remote boot.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonUntrusted, status: no,
		cause: "Whoever answers at {address} does not prove that it is the BMC of {server}, and gets no password.",
		next:  "Compare the certificate with the one that the BMC shows on its own console, then accept it with the annotation farrier.dev/certificate (docs/credentials.md).",
	},
	{
		condition: metalv1.ConditionReady, reason: "BMCUnreachable", status: no,
		cause: "{bmc} at {address} does not answer for {server}.", next: "Check that {address} is the BMC's address and that its Redfish service answers; if it hangs, restart it (docs/bmcs.md).",
		usual: usuallySilent,
	},
	{
		condition: metalv1.ConditionDiscovered, reason: "SystemTaken", status: no,
		cause: "Another Server is the same machine as {server}, so neither is discovered anew.", next: "Delete one of the two Servers.",
	},
	{
		condition: metalv1.ConditionCleaned, reason: metalv1.ReasonCleanupFailed, status: no,
		cause: "{server} could not be cleaned: {message}.", next: "Mend or remove the disk, then clean it again: " + retry,
		usual: usuallyDisk,
	},
	{
		condition: metalv1.ConditionCleaned, reason: metalv1.ReasonCleanupUnknown, status: no,
		cause: "Nobody knows how {server} is to be cleaned: the annotation farrier.dev/cleanup has an unknown word.", next: "Correct farrier.dev/cleanup, or farrier.dev/claim-cleanup, of {server}.",
	},
	{
		condition: metalv1.ConditionCleaned, reason: metalv1.ReasonProbeCannotClean, status: no,
		cause: "The probe image that {server} boots cannot clean.", next: "Set a probe image that can (--probe-os-image), then: " + retry,
	},
	{
		condition: metalv1.ConditionCleaned, reason: "ProbeImageMissing", status: no,
		cause: "Farrier has no probe image, so {server} cannot be cleaned.", next: "Set --probe-os-image (docs/discovery-image.md).",
	},
	{
		condition: metalv1.ConditionDiscovered, reason: "ProbeImageMissing", status: no,
		cause: "Farrier has no probe image, so {server} cannot be inspected.", next: "Set --probe-os-image (docs/discovery-image.md).",
	},
	{
		condition: metalv1.ConditionDiscovered, reason: metalv1.ReasonUUIDMissing, status: no,
		cause: "{bmc} reports neither a UUID nor a MAC address of {server}, so the boot server could not tell it from others.", next: "Set spec.systemUUID of {server}, or the UUID in the firmware of the machine.",
	},
	{
		condition: metalv1.ConditionPoweringOn, reason: "CommandFailed", status: yes,
		cause: "{bmc} does not switch {server} on.", next: "Try it at the console of the BMC; if that fails too, restart the BMC (docs/bmcs.md).",
		usual: []string{"The BMC says that it has done it, and has not.", "The machine has no power, or its power button is locked.", "The account of Farrier may not switch power."},
	},
	{
		condition: metalv1.ConditionWaitingForPowerOff, reason: "CommandFailed", status: yes,
		cause: "{bmc} does not switch {server} off.", next: "Try it at the console of the BMC; if that fails too, restart the BMC (docs/bmcs.md).",
		usual: []string{"The operating system ignores the request, and Farrier may not force it (--enforce-power-off).", "The account of Farrier may not switch power."},
	},
	{
		condition: metalv1.ConditionPoweringOn, reason: "CommandFailed", status: no,
		cause: "{bmc} was told to switch {server} on, and did not: {message}.", next: "Try it at the console of the BMC; if that fails too, restart the BMC (docs/bmcs.md).",
		usual: []string{"The machine has no power, or its power button is locked.", "The account of Farrier may not switch power."},
	},
	{
		condition: metalv1.ConditionWaitingForPowerOff, reason: "CommandFailed", status: no,
		cause: "{bmc} was told to switch {server} off, and did not: {message}.", next: "Try it at the console of the BMC; if that fails too, restart the BMC (docs/bmcs.md).",
		usual: []string{"The account of Farrier may not switch power."},
	},
	{
		condition: metalv1.ConditionBootReady, reason: "BootConfigurationMissing", status: no,
		cause: "{server} is to boot a ServerBootConfiguration that does not exist.", next: "Create it, or remove the reference from spec of {server}.",
	},
	{
		condition: metalv1.ConditionBootReady, reason: "NotByBMC", status: no,
		cause: "--boot-identity=bmc requires UEFI HTTP boot, which {server} or its image does not have.", next: "Use an image with a UKI, a BMC that offers UEFI HTTP boot, or another --boot-identity.",
	},
	{
		condition: metalv1.ConditionBootReady, reason: metalv1.ReasonReinstallPending, status: no,
		cause: "The image or the ignition of {server} has changed, and nobody asked to install it again.", next: "Set a new value of the annotation farrier.dev/reinstall on the claim.",
	},
	{
		condition: metalv1.ConditionBootReady, reason: "NotAcknowledged", status: no, waits: true,
		cause: "No boot server has confirmed the boot of {server} yet.", next: "Wait: the boot goes on after ten seconds without it.",
	},
	{
		condition: "Identified", reason: "SystemUUIDTaken", status: no,
		cause: "The probe of {server} reports a UUID that another Server has.", next: "Give one of the two machines another UUID in its firmware, or delete the other Server: {message}",
	},
	{
		condition: "ForeignMaintenance", reason: "Found", status: yes, waits: true,
		cause: "A maintenance of another API group has {server}, and Farrier leaves the machine alone.", next: "End that maintenance, or remove spec.serverMaintenanceRef of {server}.",
	},
	{
		condition: "ForeignMaintenance", reason: "NotFound", status: yes,
		cause: "{server} names a ServerMaintenance that nobody finds, and Farrier leaves the machine alone.", next: "Remove spec.serverMaintenanceRef of {server}.",
	},
	{
		condition: "DeletionWaits", reason: "Claimed", status: yes, waits: true,
		cause: "{server} is to be deleted, and a claim still has it.", next: "Delete the claim.",
	},
	{
		condition: "DeletionWaits", reason: "NotClean", status: yes, waits: true,
		cause: "{server} is to be deleted, and is not clean yet.", next: "Wait for its cleanup, or remove the annotation farrier.dev/claimed-by to delete it as it is.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonNotObserved, status: unknown, waits: true,
		cause: "{bmc} has not answered for {server} yet.", next: "Wait for its first answer; ask again in a minute.",
		usual: usuallySilent,
	},
	{
		condition: metalv1.ConditionDiscovered, reason: "InventoryPending", status: no, waits: true,
		cause: "{bmc} has not reported the inventory of {server} yet.", next: "Wait; if it lasts longer than five minutes, look at the BMC.",
	},
	{
		condition: metalv1.ConditionCleaned, reason: "InProgress", status: no, waits: true,
		cause: "{server} is being cleaned: {message}.", next: "Wait; a full wipe of large disks takes hours.",
	},
	{
		condition: metalv1.ConditionStalled, reason: metalv1.ReasonNoProgress, status: yes,
		cause: "{server} was written again and again without progress, so Farrier writes less often.", next: "Find out who else writes it: kubectl get server {name} --show-managed-fields -o yaml",
	},
	{
		condition: metalv1.ConditionBootAlarm, reason: "StrangerRefused", status: yes, weight: beside,
		cause: "Another client asked for what belongs to {server} alone, and was refused.", next: "Find out who it was (docs/security.md): {message}",
	},
	{
		condition: metalv1.ConditionBootAlarm, reason: "BootContested", status: yes, weight: beside,
		cause: "Two clients say that they are {server}.", next: "Find out which is the machine (docs/security.md): {message}",
	},
	{
		condition: metalv1.ConditionBootAlarm, reason: "DisksDiffer", status: yes, weight: beside,
		cause: "The probe reported other disks of {server} than are known.", next: "Name those that a person removed in the annotation farrier.dev/disks-removed: {message}",
	},
	{
		condition: metalv1.ConditionCredentialsUsed, reason: metalv1.ReasonOtherHolder, status: no, weight: beside,
		cause: "Another object names the BMC of {server} with other credentials, and those are in use.", next: "Give both the same credentials, or delete one of them.",
	},
}
