package diagnosis

// other is what is known of a reason that `farrier why` names no cause by: that of a kind that it is not asked about, and one that only goes along with a
// cause.
type other struct{ of, reason, cause, next string }

// others are in the order of the page.
var others = []other{
	// the states of a server that others say more of
	{"Server", "DiscoveryFailed", "The probe has not reported in any of its tries, and Farrier has given up.", "Ask farrier why for the first step that did not happen; then set the annotation metal.ironcore.dev/operation=retry."},
	{"Server", "TimedOut", "The probe has not reported in time; Farrier tries again by itself.", "Ask farrier why for the first step that did not happen."},
	{"Server", "ForcedOff", "The machine did not shut down in time, and was switched off hard.", "Nothing, if its operating system may be slow; otherwise look why it ignores the request."},
	{"Server", "UnknownDevice", "spec.bootOrder names a device that the BMC does not list.", "Correct spec.bootOrder; the message lists the devices."},
	{"Server", "InvalidValue", "A field or an attribute has a value that nobody takes.", "Correct it; the message names it, and what may be there."},
	{"Server", "Ended", "A maintenance of another API group has ended.", "Remove spec.serverMaintenanceRef of the Server."},
	{"Server, ServerBootConfiguration", "ReadAgain", "The ignition of one boot was read twice.", "Compare both addresses in the message: one may be a stranger's (docs/security.md)."},
	{"ServerBootConfiguration, boot configs", "NotDeliverable", "Script or ignition cannot be read, so no machine gets it.", "Correct the Secret that the message names."},
	// Endpoints
	{"Endpoint", "UnknownMACPrefix", "No prefix of the MAC address is known, so nobody knows how to log in.", "Add the prefix to --mac-prefixes-file, or create BMC and BMCSecret by hand: farrier add bmc."},
	{"Endpoint", "InvalidMACAddress", "spec.macAddress is no MAC address.", "Correct it."},
	{"Endpoint", "NoDefaultCredentials", "The prefix is a BMC's, and no default credentials are known for it.", "Add them to --mac-prefixes-file, or create BMC and BMCSecret by hand: farrier add bmc."},
	{"Endpoint, Sets", "NameTaken", "Another object has the name that the BMC, the Endpoint or the child of the Set would get.", "Rename the Endpoint or the Set, or delete the other object."},
	{"Endpoint", "DuplicateMACAddress", "Another Endpoint has the same MAC address.", "Delete one of the two."},
	// DHCP
	{"DHCP client", "EndpointExists", "An Endpoint that somebody made has the MAC address already.", "Nothing: it stays as it is."},
	{"DHCP client", "Ignored", "The Endpoint of the client is to be ignored, or is being deleted.", "Nothing; or remove its annotation metal.ironcore.dev/operation."},
	{"DHCP client", "Machine", "The client is a machine, and no BMC.", "Nothing."},
	{"DHCP client", "BMCExists", "A BMC has the address already.", "Nothing."},
	{"DHCP client", "LimitReached", "There are as many adopted Endpoints as addresses.", "Delete those of no device."},
	{"DHCP client", "TooManyWait", "More clients wait to be adopted than are remembered.", "Wait: the next request of the client is looked at again."},
	// Assignments and Profiles
	{"Assignment", "MatchesNothing", "A label of the selector has no value that a machine can have.", "Correct spec.subjectSelector; the message names the label."},
	{"Assignment", "ProfileMissing", "No Profile fits the Assignment, and its machines wait.", "Create the Profile, or correct spec.profileName or spec.profileSelectors."},
	{"Assignment", "ProfileAmbiguous", "Several Profiles fit the Assignment, and one of them is taken.", "Name one with spec.profileName."},
	{"Assignment", "ProfileNotReady", "The Profile cannot be served, and its machines wait.", "Look at condition Ready of the Profile."},
	{"Assignment", "Ambiguous", "Another Assignment selects the same machines as strictly, so which one counts is no more than an order.", "Give the one that is meant a higher spec.priority."},
	{"Assignment", "BootConfiguration", "Machines of the Assignment boot what a boot configuration says instead.", "Nothing, if that is meant; otherwise delete the boot configuration that the message names."},
	{"Profile", "InvalidTemplate", "The script of the Profile is no template.", "Correct spec.ipxe; the message has line and column."},
	{"Profile", "ContentUnavailable", "Additional content of the Profile cannot be had.", "Bring back the object or the webhook that the message names."},
	{"Profile", "ContentUnreadable", "Farrier could not read what the Profile refers to.", "Look at the message; Farrier tries again by itself."},
	{"Profile", "ContentStale", "Content of the Profile could not be read anew, and machines get what was read last.", "Bring back the object or the webhook that the message names."},
	{"Profile", "InvalidButane", "Content of the Profile is no Butane.", "Correct it; the message has line and column."},
	{"Profile", "Warnings", "Butane warns of content of the Profile.", "Look at the message; machines are served."},
	{"Assignment, Profile", "NamespaceNotServed", "Nobody serves the namespace.", "Name it with --boot-namespaces, or have an operator grant it machines (docs/ipxe-api.md)."},
	// maintenances, readiness rules, BIOS settings
	{"ServerMaintenance, ServerReadinessRule, Sets", "Ending", "It is to be deleted, and something is still to be undone.", "Wait: the message says for what."},
	{"BIOSSettings, BMCSettings, BIOSVersion, BMCVersion", "WaitingForRollout", "A RolloutPolicy has not let it begin.", "Wait; `farrier rollout status` says for what."},
	{"Sets", "RolloutPolicyNotFound", "The annotation farrier.dev/rollout-policy names no RolloutPolicy, so nothing further begins.", "Create the policy, or correct the annotation."},
	{"BIOSSettings, BIOSVersion", "ServerRefMissing", "spec.serverRef names no Server.", "Set it."},
	{"BIOSSettings, BMCSettings", "ReadingSettings", "Farrier reads the settings of the BIOS or the BMC.", "Wait."},
	{"BIOSSettings, BMCSettings, BIOSVersion, BMCVersion", "Deleted", "The object was deleted before its settings were applied, or its version was there.", "Wait: Farrier takes back what was begun."},
	{"BIOSVersion, BMCVersion", "ReadingVersion", "Farrier reads the version of the firmware.", "Wait."},
	{"BIOSVersion, BMCVersion", "VersionNotReadable", "The BMC did not tell the version of the firmware; Farrier asks again every minute.", "Look at the message, and at condition Ready of the BMC."},
	{"BIOSVersion, BMCVersion", "AnotherVersionObject", "An older object is for the same firmware, and goes first.", "Delete one of the two."},
	{"BIOSVersion, BMCVersion", "InvalidImage", "spec.image.URI is nothing that could be installed from.", "Correct it; the message says what is wrong."},
	{"BIOSVersion, BMCVersion", "FirmwareImageNotFound", "A FirmwareImage does not exist that has to be installed first, or that the firmware goes back with.", "Create it; the message names it. If the state stays Failed, set the annotation metal.ironcore.dev/operation=retry."},
	{"BIOSVersion, BMCVersion", "RollbackNotOffered", "The BMC does not have what the FirmwareImage's rollback needs: a second bank, or the previous image.", "Correct spec.rollback of the FirmwareImage; the message says what the BMC has."},
	{"BIOSVersion, BMCVersion", "RolledBack", "The firmware went back to the version before, as somebody asked.", "Nothing; or set the annotation metal.ironcore.dev/operation=retry to install spec.version again."},
	{"BIOSVersion, BMCVersion", "ImageCredentialsMissing", "The Secret of spec.image.secretRef does not exist, or lacks a key.", "Create it, with the keys username and password; then set the annotation metal.ironcore.dev/operation=retry."},
	{"BMCSettings, BMCVersion", "BMCRefMissing", "spec.BMCRef or spec.bmcRef names no BMC.", "Set it."},
	{"BIOSVersion, BMCVersion", "FetchingImage", "Farrier fetches the image of spec.image.URI.", "Wait: an image of a gigabyte takes minutes."},
	{"BIOSVersion, BMCVersion", "ImageUnavailable", "Farrier cannot fetch the image of spec.image.URI; it tries again.", "Look at the message: Farrier needs a way to the server of the image."},
	{"BIOSVersion, BMCVersion", "ImageDigestMismatch", "The image is another one than the digest in spec.image.URI says.", "Correct the URI or its digest. If both are right, somebody has changed the image: do not install it."},
	{"BIOSVersion, BMCVersion", "AnotherUpdate", "The BMC has an update under way that somebody else has started.", "Wait until it has ended; Farrier does for half an hour."},
	{"BIOSVersion", "NoIsolationBoot", "The BMC offers no boot target BiosSetup, and any other would boot the disk of the machine in the middle of the update.", "Update this BIOS by hand."},
	{"BIOSVersion, BMCVersion", "UpdateRefused", "The BMC refuses the update.", "Look at the message: it may be the URI, the transfer protocol, an older version, which updatePolicy Force may permit, or a license."},
	{"BIOSVersion, BMCVersion", "TaskStuck", "The task of the update stood still until Farrier reset the BMC, or also after that.", "Switch the machine off at its power supply for a minute, then set the annotation metal.ironcore.dev/operation=retry."},
	{"BIOSVersion, BMCVersion", "TaskVanished", "The BMC has forgotten the task of the update, and the version is the old one.", "Look at the log of the BMC, then set the annotation metal.ironcore.dev/operation=retry."},
	{"BIOSVersion, BMCVersion", "UpdateTimedOut", "The update has not ended in 90 minutes.", "Look at the task in status.upgradeTask at the BMC."},
	{"BIOSVersion, BMCVersion", "VersionUnchanged", "The BMC says that the update is done, and half an hour later the version is the old one.", "Look at the log of the BMC: it may have kept the old version, which updatePolicy Force may change."},
	{"BIOSVersion, BMCVersion", "WrongVersion", "The firmware came up with another version than the image should have brought.", "Correct spec.version or spec.image."},
	{"BIOSVersion", "MachineDidNotStart", "The machine does not get through its self test with the new BIOS.", "Look at its console. Stop further updates with this image."},
	{"BIOSVersion, BMCVersion", "BMCDidNotReturn", "The BMC has not answered for half an hour since the update.", "Switch the machine off at its power supply for a minute. Stop further updates with this image."},
}
