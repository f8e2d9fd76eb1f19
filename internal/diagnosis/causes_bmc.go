package diagnosis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

const (
	no      = metav1.ConditionFalse
	yes     = metav1.ConditionTrue
	unknown = metav1.ConditionUnknown
)

// Usual causes that several reasons share.
var (
	usuallyPassword = []string{
		"The password was changed at the BMC, and the Secret has the old one.",
		"The account is locked after too many attempts; most BMCs open it again after some minutes.",
		"The account may not log in over Redfish, or its role is too small.",
	}
	usuallySilent = []string{
		"The firmware of the BMC hangs; a restart of the BMC, or pulling its power, helps.",
		"The BMC has got another IP address, and its Endpoint has the old one.",
		"A firewall, a VLAN or a cable between Farrier and the BMC.",
		"Redfish is switched off at the BMC.",
	}
)

var bmcCauses = []cause{
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonAuthenticationFailed, status: no,
		cause: "{bmc} at {address} refuses the user name or the password of {secret}.",
		next:  "Write the right user name and password into {secret}; Farrier tries again by itself.",
		usual: usuallyPassword,
	},
	{
		condition: metalv1.ConditionReset, reason: metalv1.ReasonUserRequested, status: yes, waits: true,
		cause: "{bmc} is being restarted, as somebody asked.", next: "Wait until it answers again; that takes some minutes.",
	},
	{
		condition: metalv1.ConditionReset, reason: metalv1.ReasonAutoResetting, status: yes, waits: true,
		cause: "{bmc} did not answer for a long time, and Farrier restarts it.", next: "Wait until it answers again; that takes some minutes.",
		usual: usuallySilent,
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonConnectionFailed, status: no,
		cause: "{bmc} at {address} does not answer.",
		next:  "Check that {address} is the BMC's address and that its Redfish service answers; if it hangs, restart it (docs/bmcs.md).",
		usual: usuallySilent,
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonUntrusted, status: no,
		cause: "Whoever answers at {address} does not prove that it is {bmc}, and gets no password.",
		next:  "Compare the certificate with the one that the BMC shows on its own console, then accept it with the annotation farrier.dev/certificate (docs/credentials.md).",
		usual: []string{"The BMC has the certificate of its factory, which nobody has accepted.", "The certificate has expired, or was made anew.", "Another host has the address."},
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonDowngraded, status: no,
		cause: "{bmc} answered over HTTPS before, so Farrier does not send its password over plain HTTP.",
		next:  "Set the scheme of the BMC back to https, or remove the annotation farrier.dev/known-over if the BMC speaks no HTTPS any more.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonInternalServerError, status: no,
		cause: "{bmc} at {address} answers with a server error.", next: "Wait some minutes; if it lasts, restart the BMC (docs/bmcs.md).",
		usual: []string{"The BMC is starting, or overloaded.", "A fault of its firmware; an update may help."},
	},
	{
		condition: metalv1.ConditionReady, reason: "EndpointNotFound", status: no,
		cause: "{bmc} names an Endpoint that does not exist, so nobody knows its address.", next: "Create the Endpoint, or correct spec.endpointRef of {bmc}.",
	},
	{
		condition: metalv1.ConditionReady, reason: "SecretNotFound", status: no,
		cause: "{bmc} names {secret}, which does not exist, so Farrier cannot log in.", next: "Create {secret}, or correct spec.bmcSecretRef of {bmc}.",
	},
	{
		condition: metalv1.ConditionReady, reason: "SecretIncomplete", status: no,
		cause: "{secret} of {bmc} has no user name or no password.", next: "Write both keys into {secret}: username and password.",
	},
	{
		condition: metalv1.ConditionReady, reason: "SecretNotAllowed", status: no,
		cause: "{bmc} may not use {secret}.", next: "Name a Secret that it may use (docs/credentials.md).",
	},
	{
		condition: metalv1.ConditionReady, reason: "AddressInvalid", status: no,
		cause: "The address of {bmc} is no IP address.", next: "Correct the address of its Endpoint, or in its spec.",
	},
	{
		condition: metalv1.ConditionReady, reason: "ProtocolNotSupported", status: no,
		cause: "{bmc} asks for a protocol that Farrier does not speak.", next: "Set spec.protocol.name of {bmc} to Redfish.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonUnknownError, status: no,
		cause: "{bmc} at {address} answers in a way that Farrier does not understand.", next: "Look at the evidence below, and report it with the make and firmware of the BMC.",
		usual: []string{"Something else than a BMC answers at the address.", "A deviation of the firmware that Farrier does not know yet."},
	},
	{
		condition: metalv1.ConditionIdentity, reason: metalv1.ReasonUUIDDiffers, status: no,
		cause: "The BMC at {address} is another one than {bmc} names in spec.bmcUUID.", next: "Find out which BMC has the address; correct spec.bmcUUID if its board was replaced.",
	},
	{
		condition: metalv1.ConditionReady, reason: metalv1.ReasonNotObserved, status: unknown, waits: true,
		cause: "{bmc} at {address} has not answered yet.", next: "Wait for its first answer; Farrier asks few BMCs at a time for the first time.",
		usual: usuallySilent,
	},
	besideBMC(metalv1.ConditionDegraded, metalv1.ReasonSystemUnreadable, yes, "{bmc} answers, but one of its systems cannot be read.", "Restart the BMC, or update its firmware."),
	besideBMC(metalv1.ConditionDegraded, metalv1.ReasonNoBootOverride, yes, "{bmc} cannot set the boot source of a system, so Farrier cannot boot it.", "Update the firmware of the BMC, or licence its remote boot."),
	besideBMC(metalv1.ConditionDegraded, metalv1.ReasonUUIDMissing, yes, "{bmc} reports no UUID of a system.", "Set the UUID in the firmware of the machine, or let the probe find it (docs/bmcs.md)."),
	besideBMC(metalv1.ConditionDegraded, metalv1.ReasonPowerStateMissing, yes, "{bmc} reports no power state of a system, so Farrier does not know whether it is on.", "Restart the BMC, or update its firmware."),
	besideBMC(metalv1.ConditionDegraded, metalv1.ReasonServerRefused, yes, "The API refused the Server of a system of {bmc}.", "Delete the Server that stands for the machine already, or tell two systems of one UUID apart."),
	noteBMC(metalv1.ConditionDegraded, metalv1.ReasonSessionsLost, yes, "{bmc} forgets its sessions, so each request costs a login.", "Restart the BMC, or update its firmware."),
	noteBMC(metalv1.ConditionDegraded, metalv1.ReasonSlowAnswers, yes, "{bmc} takes nearly as long to answer as Farrier waits.", "Restart the BMC; find out who else asks it."),
	noteBMC(metalv1.ConditionDegraded, metalv1.ReasonClockSkewed, yes, "The clock of {bmc} is wrong.", "Set its clock, or name a time server at the BMC."),
	noteBMC(metalv1.ConditionDegraded, metalv1.ReasonInventoryIncomplete, yes, "Parts of a system of {bmc} could not be read.", "Restart the BMC; the rest of the inventory is in use."),
	besideBMC(metalv1.ConditionReset, metalv1.ReasonResetFailed, no, "The restart of {bmc} could not be ordered.", "Restart it by hand."),
	besideBMC(metalv1.ConditionReset, metalv1.ReasonHostKeyUnknown, no, "Nobody has accepted the SSH host key of {bmc}, so Farrier does not restart it over SSH.", "Compare the key and accept it with the annotation farrier.dev/ssh-host-key."),
	besideBMC(metalv1.ConditionReset, metalv1.ReasonHostKeyChanged, no, "The SSH server of {bmc} has another host key than the accepted one.", "Find out why it changed; then accept the new one with the annotation farrier.dev/ssh-host-key."),
	besideBMC(metalv1.ConditionRotated, metalv1.ReasonBothPasswordsRefused, no, "{bmc} accepts neither the old nor the new password of its rotation.", "Set the password at the BMC by hand, and write it into {secret}."),
	besideBMC(metalv1.ConditionRotated, metalv1.ReasonRotationFailed, no, "The password of {bmc} was not replaced; the old one remains in use.", "Look at the evidence, and ask for the rotation again (docs/credentials.md)."),
	besideBMC(metalv1.ConditionRotated, metalv1.ReasonRotating, unknown, "The rotation of the password of {bmc} waits.", "Look at the evidence for what it waits for."),
	besideBMC(metalv1.ConditionDefaultCredentials, metalv1.ReasonCredentialsRefused, no, "{bmc} refuses the default credentials of its vendor that were tried so far.", "Write its user name and password into {secret}; many BMCs have the password on a label."),
	besideBMC(metalv1.ConditionDefaultCredentials, metalv1.ReasonCredentialsTried, unknown, "Farrier tries the default credentials of its vendor on {bmc}.", "Wait, or write its user name and password into {secret}."),
	besideBMC(metalv1.ConditionCredentialsUsed, metalv1.ReasonOtherHolder, no, "Another object names the same BMC as {bmc} with other credentials, and those are in use.", "Give both the same credentials, or delete one of them."),
	noteBMC(metalv1.ConditionSecure, metalv1.ReasonPlainHTTP, no, "Farrier speaks to {bmc} over plain HTTP, so its password can be read on the way.", "Set the scheme of the BMC to https."),
	noteBMC(metalv1.ConditionSecure, metalv1.ReasonNotVerified, no, "Nobody verifies the certificate of {bmc}.", "Accept its certificate with the annotation farrier.dev/certificate, and do not set --insecure-skip-bmc-verify."),
}

func besideBMC(condition, reason string, status metav1.ConditionStatus, because, next string) cause {
	return cause{condition: condition, reason: reason, status: status, weight: beside, cause: because, next: next}
}

func noteBMC(condition, reason string, status metav1.ConditionStatus, because, next string) cause {
	row := besideBMC(condition, reason, status, because, next)
	row.weight = note
	return row
}
