package v1alpha1

// ConditionReady says, on every kind that has it, whether the object can be used as its spec
// says, and by its observedGeneration which spec that is.
const ConditionReady = "Ready"

// Conditions of a Server.
const (
	// ConditionPoweringOn is true from the order to power on until the server is on.
	ConditionPoweringOn = "PoweringOn"
	// ConditionWaitingForPowerOff is true from the order to power off until the server is off.
	ConditionWaitingForPowerOff = "WaitingForPowerOff"
	// ConditionDiscovered says whether the server was seen from inside.
	ConditionDiscovered = "Discovered"
	// ConditionUEFIHTTPBoot says whether the BMC offers UEFI HTTP boot, from a URL that it is given: what --boot-identity=bmc needs.
	ConditionUEFIHTTPBoot = "UEFIHTTPBoot"
	// ConditionBootAlarm says that somebody else asked for, or reported, what is for this machine alone, or that a report does not fit it.
	ConditionBootAlarm = "BootAlarm"
	// ConditionBootReady says whether the server's boot configuration can be booted.
	ConditionBootReady = "BootReady"
	// ConditionCleaned says whether the server is clean.
	ConditionCleaned = "Cleaned"
	// ConditionClaimable reports whether a claim may take the server: it is Available, and its machine is off for good. Without
	// this condition a server is not claimable. Added by Farrier.
	ConditionClaimable = "Claimable"

	// ReasonClaimable is a reason of ConditionClaimable: a claim may take the server.
	ReasonClaimable = "AvailableAndOff"
	// ReasonNotAvailable is a reason of ConditionClaimable: the server is in another state than Available.
	ReasonNotAvailable = "NotAvailable"
	// ReasonNotOff is a reason of ConditionClaimable: the machine is on, or the outcome of the last power command is not known yet.
	ReasonNotOff = "NotOff"
)

// Conditions of a BMC, with the reasons of the contract.
const (
	// ConditionReset is true while a reset of the BMC is under way.
	ConditionReset = "Reset"

	// ReasonConnected is a reason of ConditionReady: the BMC answers.
	ReasonConnected = "Connected"
	// ReasonAuthenticationFailed is a reason of ConditionReady: the BMC refuses the credentials.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonConnectionFailed is a reason of ConditionReady: the BMC does not answer.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonUntrusted is a reason of ConditionReady: who answers does not prove that it is the BMC, and is told no
	// password. Added by Farrier.
	ReasonUntrusted = "PeerNotTrusted"
	// ReasonDowngraded is a reason of ConditionReady: the password would travel over http to a BMC that has answered over
	// https, and is not sent. Added by Farrier.
	ReasonDowngraded = "PlainHTTPRefused"
	// ReasonInternalServerError is a reason of ConditionReady: the BMC answers with an error of its own.
	ReasonInternalServerError = "InternalServerError"
	// ReasonUnknownError is a reason of ConditionReady: anything else.
	ReasonUnknownError = "UnknownError"

	// ReasonUserRequested is a reason of ConditionReset: an operation asked for it.
	ReasonUserRequested = "UserRequested"
	// ReasonAutoResetting is a reason of ConditionReset: the BMC did not answer for long.
	ReasonAutoResetting = "AutoResetting"
	// ReasonResetComplete is a reason of ConditionReset: the BMC answers again.
	ReasonResetComplete = "ResetComplete"
	// ReasonResetFailed is a reason of ConditionReset: the BMC could not be told to. Added by Farrier.
	ReasonResetFailed = "ResetFailed"
	// ReasonHostKeyUnknown is a reason of ConditionReset: nobody has accepted the key of the SSH server, which was told no
	// password. Added by Farrier.
	ReasonHostKeyUnknown = "SSHHostKeyUnknown"
	// ReasonHostKeyChanged is a reason of ConditionReset: the SSH server has another key than the one that was accepted, and
	// was told no password. Added by Farrier.
	ReasonHostKeyChanged = "SSHHostKeyChanged"

	// ConditionDefaultCredentials says which of its make's default credentials a BMC takes; there is none
	// where the credentials are somebody's own. Added by Farrier, as all below.
	ConditionDefaultCredentials = "DefaultCredentials"
	// ReasonCredentialsAccepted is a reason of ConditionDefaultCredentials: the BMC takes them.
	ReasonCredentialsAccepted = "Accepted"
	// ReasonCredentialsTried is a reason of ConditionDefaultCredentials: the BMC has not answered yet.
	ReasonCredentialsTried = "BeingTried"
	// ReasonCredentialsRefused is a reason of ConditionDefaultCredentials: the next ones have to wait,
	// because accounts lock.
	ReasonCredentialsRefused = "Refused"

	// ConditionSecure says whether the connection to a BMC keeps its credentials secret.
	ConditionSecure = "ConnectionSecure"
	// ReasonVerified is a reason of ConditionSecure: TLS, and the certificate is verified.
	ReasonVerified = "CertificateVerified"
	// ReasonPlainHTTP is a reason of ConditionSecure.
	ReasonPlainHTTP = "PlainHTTP"
	// ReasonNotVerified is a reason of ConditionSecure: TLS with anybody.
	ReasonNotVerified = "CertificateNotVerified"
	// ReasonNotObserved is a reason of conditions that are Unknown because the BMC has not answered.
	ReasonNotObserved = "NotObserved"

	// ConditionDegraded is true while something is wrong with a BMC that answers all the same; there is none
	// where nothing ever was.
	ConditionDegraded = "Degraded"
	// ReasonAsExpected is a reason of ConditionDegraded: nothing is wrong any more.
	ReasonAsExpected = "AsExpected"
	// ReasonSessionsLost is a reason of ConditionDegraded: each request costs a login.
	ReasonSessionsLost = "SessionsLost"
	// ReasonClockSkewed is a reason of ConditionDegraded: the BMC's clock is wrong.
	ReasonClockSkewed = "ClockSkewed"
	// ReasonSlowAnswers is a reason of ConditionDegraded: answers take nearly as long as they may.
	ReasonSlowAnswers = "SlowAnswers"
	// ReasonSystemUnreadable is a reason of ConditionDegraded: a system answers with errors while others do not.
	ReasonSystemUnreadable = "SystemUnreadable"
	// ReasonUUIDMissing is a reason of ConditionDegraded: a system tells no UUID.
	ReasonUUIDMissing = "SystemUUIDMissing"
	// ReasonPowerStateMissing is a reason of ConditionDegraded: a system tells no power state.
	ReasonPowerStateMissing = "PowerStateMissing"
	// ReasonNoBootOverride is a reason of ConditionDegraded: a system cannot be told what to boot.
	ReasonNoBootOverride = "NoBootOverride"
	// ReasonInventoryIncomplete is a reason of ConditionDegraded: parts of a system could not be read.
	ReasonInventoryIncomplete = "InventoryIncomplete"
	// ReasonServerRefused is a reason of ConditionDegraded: a system has no Server because the API refused it, as it does
	// where the machine has one already, or because another system of the BMC tells the same UUID.
	ReasonServerRefused = "ServerRefused"

	// ConditionIdentity says whether the BMC is the one that spec.bmcUUID names; there is none where spec has
	// none.
	ConditionIdentity = "IdentityMatches"
	// ReasonMatches is a reason of ConditionIdentity.
	ReasonMatches = "Matches"
	// ReasonUUIDDiffers is a reason of ConditionIdentity.
	ReasonUUIDDiffers = "UUIDDiffers"

	// ConditionRotated says how the last rotation of a BMC's credentials stands; there is none before the first.
	ConditionRotated = "CredentialsRotated"
	// ReasonRotated is a reason of ConditionRotated, and of the event.
	ReasonRotated = "CredentialsRotated"
	// ReasonRotating is a reason of ConditionRotated: the message says what is awaited.
	ReasonRotating = "Rotating"
	// ReasonRotationFailed is a reason of ConditionRotated, and of the event: the old password holds.
	ReasonRotationFailed = "CredentialsRotationFailed"
	// ReasonBothPasswordsRefused is a reason of ConditionRotated: the BMC takes neither the old password nor the new.
	ReasonBothPasswordsRefused = "BothPasswordsRefused"
	// ReasonSecretReplaced is the reason of the event that tells that a BMC has a BMCSecret of its own now.
	ReasonSecretReplaced = "BMCSecretReplaced"

	// ConditionCredentialsUsed is False on a BMC, or on a Server with an inline BMC, while another object names the
	// same BMC with other credentials, and those are used.
	ConditionCredentialsUsed = "CredentialsUsed"
	// ReasonCredentialsUsed is a reason of ConditionCredentialsUsed, on Servers.
	ReasonCredentialsUsed = "Used"
	// ReasonOtherHolder is a reason of ConditionCredentialsUsed: the message names the object that counts.
	ReasonOtherHolder = "OtherHolder"
)

// Conditions of a ServerBootConfiguration.
const (
	// ConditionBootStateReceived says whether the machine has reported that it booted.
	ConditionBootStateReceived = "BootStateReceived"
	// ConditionSiteKnown is there, and false, while the server's label LabelSite names a site that
	// no boot URL is configured for.
	ConditionSiteKnown = "SiteKnown"
	// ReasonUnknownSite is a reason of ConditionSiteKnown.
	ReasonUnknownSite = "UnknownSite"
	// ConditionImageValidation says whether the image can be booted.
	ConditionImageValidation = "ImageValidation"
	// ConditionIgnitionDataFetched says whether the machine has fetched its ignition.
	ConditionIgnitionDataFetched = "IgnitionDataFetched"
	// ConditionIPXEScriptFetched says whether the machine has fetched its script.
	ConditionIPXEScriptFetched = "IPXEScriptFetched"

	// ReasonValidationFailed is a reason of ConditionImageValidation.
	ReasonValidationFailed = "ValidationFailed"
)

// Conditions of a ServerClaim.
const (
	// ConditionBound says whether the claim has a server.
	ConditionBound = "Bound"

	// ReasonAllocated is a reason of ConditionBound: the claim has a server.
	ReasonAllocated = "Allocated"
	// ReasonNoMatchingServer is a reason of ConditionBound: no server is what the claim asks for.
	ReasonNoMatchingServer = "NoMatchingServer"
	// ReasonAllMatchingServersBusy is a reason of ConditionBound: each server that would do is taken or not ready.
	ReasonAllMatchingServersBusy = "AllMatchingServersBusy"
	// ReasonTaintNotTolerated is a reason of ConditionBound: a taint that is not tolerated keeps the claim away.
	ReasonTaintNotTolerated = "TaintNotTolerated"
)

// Reasons of conditions and events about cleaning, operations and installing.
const (
	// ReasonProbeCannotClean is a reason of ConditionCleaned: the probe image does not clean.
	ReasonProbeCannotClean = "ProbeCannotClean"
	// ReasonReinstallPending says that image or ignition changed and a reinstall was not asked for.
	ReasonReinstallPending = "ReinstallPending"
	// ReasonUnsupportedOperation is the reason of the event for an unknown operation.
	ReasonUnsupportedOperation = "UnsupportedOperation"
	// ReasonOperationOutcomeUnknown is the reason of the event for an operation whose end was not seen.
	ReasonOperationOutcomeUnknown = "OperationOutcomeUnknown"
	// ReasonParkDeferred is the reason of the event for a park that has to wait.
	ReasonParkDeferred = "ParkDeferred"
	// ReasonParkedOperationDropped is the reason of the event for an operation on a parked server.
	ReasonParkedOperationDropped = "ParkedOperationDropped"
)
