package v1alpha1

// ConditionReady, on every kind that has it, reports whether the object can be used as its spec defines. Its observedGeneration
// names that spec.
const ConditionReady = "Ready"

// Conditions of a Server.
const (
	// ConditionPoweringOn is true from the power-on command until the server is on.
	ConditionPoweringOn = "PoweringOn"
	// ConditionWaitingForPowerOff is true from the power-off command until the server is off.
	ConditionWaitingForPowerOff = "WaitingForPowerOff"
	// ConditionDiscovered reports whether the probe has inspected the server.
	ConditionDiscovered = "Discovered"
	// ConditionUEFIHTTPBoot reports whether the BMC supports UEFI HTTP boot from a URL that Farrier sets, as --boot-identity=bmc
	// needs it.
	ConditionUEFIHTTPBoot = "UEFIHTTPBoot"
	// ConditionBootAlarm reports that another client requested or reported what belongs to this machine alone, or that a report
	// does not match the machine.
	ConditionBootAlarm = "BootAlarm"
	// ConditionBootReady reports whether the server's boot configuration can be booted.
	ConditionBootReady = "BootReady"
	// ConditionCleaned reports whether the server is clean.
	ConditionCleaned = "Cleaned"
	// ConditionHealthy reports whether the server is well with all its parts, as its BMC says (DSP0268, Status.HealthRollup). Where the BMC says nothing
	// of it, it does not exist. Added by Farrier.
	ConditionHealthy = "Healthy"
	// ReasonHealthOK, ReasonHealthWarning and ReasonHealthCritical are the reasons of ConditionHealthy: the words of Redfish. ReasonHealthNotReported
	// is that of a BMC that says nothing any more.
	ReasonHealthOK          = "OK"
	ReasonHealthWarning     = "Warning"
	ReasonHealthCritical    = "Critical"
	ReasonHealthNotReported = "NotReported"
	// ConditionTroubled is true while something is wrong with a Server or a ServerClaim. Its message is the cause in one sentence and the
	// next step to take, as `farrier why` prints them, and its reason the typed cause. Otherwise it does not exist. No decision reads it.
	// Added by Farrier.
	ConditionTroubled = "Troubled"
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
	// ConditionReset is true while a reset of the BMC is in progress.
	ConditionReset = "Reset"

	// ReasonConnected is a reason of ConditionReady: the BMC answers.
	ReasonConnected = "Connected"
	// ReasonAuthenticationFailed is a reason of ConditionReady: the BMC refuses the credentials.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonConnectionFailed is a reason of ConditionReady: the BMC does not answer.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonUntrusted is a reason of ConditionReady: the peer does not prove that it is the BMC, and gets no password. Added by
	// Farrier.
	ReasonUntrusted = "PeerNotTrusted"
	// ReasonDowngraded is a reason of ConditionReady: Farrier does not send the password over http to a BMC that has answered
	// over https. Added by Farrier.
	ReasonDowngraded = "PlainHTTPRefused"
	// ReasonInternalServerError is a reason of ConditionReady: the BMC answers with a server error.
	ReasonInternalServerError = "InternalServerError"
	// ReasonUnknownError is a reason of ConditionReady: anything else.
	ReasonUnknownError = "UnknownError"

	// ReasonUserRequested is a reason of ConditionReset: an operation asked for the reset.
	ReasonUserRequested = "UserRequested"
	// ReasonAutoResetting is a reason of ConditionReset: the BMC has not answered for a long time.
	ReasonAutoResetting = "AutoResetting"
	// ReasonResetComplete is a reason of ConditionReset: the BMC answers again.
	ReasonResetComplete = "ResetComplete"
	// ReasonResetFailed is a reason of ConditionReset: the command could not be sent to the BMC. Added by Farrier.
	ReasonResetFailed = "ResetFailed"
	// ReasonHostKeyUnknown is a reason of ConditionReset: nobody has accepted the host key of the SSH server, which got no
	// password. Added by Farrier.
	ReasonHostKeyUnknown = "SSHHostKeyUnknown"
	// ReasonHostKeyChanged is a reason of ConditionReset: the SSH server has another host key than the accepted one, and got no
	// password. Added by Farrier.
	ReasonHostKeyChanged = "SSHHostKeyChanged"

	// ConditionDefaultCredentials reports which default credentials of its vendor a BMC accepts. A BMC with credentials of a user
	// does not have it. Farrier adds this condition and all below.
	ConditionDefaultCredentials = "DefaultCredentials"
	// ReasonCredentialsAccepted is a reason of ConditionDefaultCredentials: the BMC accepts them.
	ReasonCredentialsAccepted = "Accepted"
	// ReasonCredentialsTried is a reason of ConditionDefaultCredentials: the BMC has not answered yet.
	ReasonCredentialsTried = "BeingTried"
	// ReasonCredentialsRefused is a reason of ConditionDefaultCredentials: Farrier waits before it tries the next ones, because
	// accounts lock.
	ReasonCredentialsRefused = "Refused"

	// ConditionSecure reports whether the connection to a BMC keeps its credentials secret.
	ConditionSecure = "ConnectionSecure"
	// ReasonVerified is a reason of ConditionSecure: TLS, with a verified certificate.
	ReasonVerified = "CertificateVerified"
	// ReasonCertificateAccepted is a reason of ConditionSecure: TLS, with the one certificate that a person has accepted.
	ReasonCertificateAccepted = "CertificateAccepted"
	// ReasonPlainHTTP is a reason of ConditionSecure: no TLS.
	ReasonPlainHTTP = "PlainHTTP"
	// ReasonNotVerified is a reason of ConditionSecure: TLS, with a certificate that nobody verifies.
	ReasonNotVerified = "CertificateNotVerified"
	// ReasonNotObserved is the reason of conditions that are Unknown because the BMC has not answered.
	ReasonNotObserved = "NotObserved"

	// ConditionDegraded is true while something is wrong with a BMC that nevertheless answers. A BMC that never had a problem
	// does not have it.
	ConditionDegraded = "Degraded"
	// ReasonAsExpected is a reason of ConditionDegraded: the problem is over.
	ReasonAsExpected = "AsExpected"
	// ReasonSessionsLost is a reason of ConditionDegraded: each request costs a login.
	ReasonSessionsLost = "SessionsLost"
	// ReasonClockSkewed is a reason of ConditionDegraded: the BMC's clock is wrong.
	ReasonClockSkewed = "ClockSkewed"
	// ReasonSlowAnswers is a reason of ConditionDegraded: answers take nearly as long as the request timeout.
	ReasonSlowAnswers = "SlowAnswers"
	// ReasonSystemUnreadable is a reason of ConditionDegraded: one system answers with errors while others do not.
	ReasonSystemUnreadable = "SystemUnreadable"
	// ReasonUUIDMissing is a reason of ConditionDegraded: a system reports no UUID.
	ReasonUUIDMissing = "SystemUUIDMissing"
	// ReasonPowerStateMissing is a reason of ConditionDegraded: a system reports no power state.
	ReasonPowerStateMissing = "PowerStateMissing"
	// ReasonNoBootOverride is a reason of ConditionDegraded: a system supports no boot override.
	ReasonNoBootOverride = "NoBootOverride"
	// ReasonInventoryIncomplete is a reason of ConditionDegraded: parts of a system could not be read.
	ReasonInventoryIncomplete = "InventoryIncomplete"
	// ReasonServerRefused is a reason of ConditionDegraded: the API refused the Server of a system, because the machine has one
	// already or another system of the BMC reports the same UUID.
	ReasonServerRefused = "ServerRefused"

	// ConditionIdentity reports whether the BMC is the one that spec.bmcUUID names. A BMC without spec.bmcUUID does not have it.
	ConditionIdentity = "IdentityMatches"
	// ReasonMatches is a reason of ConditionIdentity: the UUIDs are equal.
	ReasonMatches = "Matches"
	// ReasonUUIDDiffers is a reason of ConditionIdentity: the BMC reports another UUID.
	ReasonUUIDDiffers = "UUIDDiffers"

	// ConditionRotated reports the result of the last credentials rotation. A BMC has it from the first rotation on.
	ConditionRotated = "CredentialsRotated"
	// ReasonRotated is a reason of ConditionRotated, and of the event: the new password is in use.
	ReasonRotated = "CredentialsRotated"
	// ReasonRotating is a reason of ConditionRotated: the rotation waits; the message says for what.
	ReasonRotating = "Rotating"
	// ReasonRotationFailed is a reason of ConditionRotated, and of the event: the old password remains in use.
	ReasonRotationFailed = "CredentialsRotationFailed"
	// ReasonBothPasswordsRefused is a reason of ConditionRotated: the BMC accepts neither the old nor the new password.
	ReasonBothPasswordsRefused = "BothPasswordsRefused"
	// ReasonReplacingDefaults is the reason of the event that Farrier replaces default credentials by itself.
	ReasonReplacingDefaults = "ReplacingDefaultCredentials"
	// ReasonSecretReplaced is the reason of the event that a BMC has got a BMCSecret of its own.
	ReasonSecretReplaced = "BMCSecretReplaced"

	// ConditionCredentialsUsed is False on a BMC, or on a Server with an inline BMC, while another object names the same BMC with
	// other credentials, and those are in use.
	ConditionCredentialsUsed = "CredentialsUsed"
	// ReasonCredentialsUsed is a reason of ConditionCredentialsUsed, on Servers.
	ReasonCredentialsUsed = "Used"
	// ReasonOtherHolder is a reason of ConditionCredentialsUsed: the message names the object whose credentials are in use.
	ReasonOtherHolder = "OtherHolder"
)

// Reasons of ConditionReady of a BMCUser. Those about passwords are reasons of ConditionRotated, too.
const (
	// ReasonAccountReady: the BMC has the account, and Farrier has logged in with its password.
	ReasonAccountReady = "AccountReady"
	// ReasonAccountPending: the account is being made or changed; the message says at which step that is.
	ReasonAccountPending = "AccountPending"
	// ReasonRemovingAccount: the object is being deleted, and the account with it.
	ReasonRemovingAccount = "RemovingAccount"
	// ReasonAccountRemains is the reason of the event that an account stays at its BMC, because the BMC object is gone.
	ReasonAccountRemains = "AccountRemains"
	// ReasonBMCRefMissing: spec.bmcRef names no BMC.
	ReasonBMCRefMissing = "BMCRefMissing"
	// ReasonBMCNotFound: the BMC that spec.bmcRef names does not exist.
	ReasonBMCNotFound = "BMCNotFound"
	// ReasonAnotherBMCUser: an older BMCUser names the same account.
	ReasonAnotherBMCUser = "AnotherBMCUser"
	// ReasonOwnAccount: Farrier itself logs in with the account.
	ReasonOwnAccount = "OwnAccount"
	// ReasonRoleUnknown: the BMC has no role of this name.
	ReasonRoleUnknown = "RoleUnknown"
	// ReasonAccountTableFull: the BMC has no room for one more account.
	ReasonAccountTableFull = "AccountTableFull"
	// ReasonPasswordRules: no safe password fits the rules of the BMC, or the given one does not.
	ReasonPasswordRules = "PasswordRulesNotSatisfiable"
	// ReasonPasswordNotVerified: the BMC took a password and refused a login with it.
	ReasonPasswordNotVerified = "PasswordNotVerified"
)

// Conditions of a ServerBootConfiguration.
const (
	// ConditionBootStateReceived reports whether the machine has reported that it booted.
	ConditionBootStateReceived = "BootStateReceived"
	// ConditionSiteKnown is False while the server's label LabelSite names a site without boot URLs. Otherwise the condition is
	// absent.
	ConditionSiteKnown = "SiteKnown"
	// ReasonUnknownSite is the reason of ConditionSiteKnown.
	ReasonUnknownSite = "UnknownSite"
	// ConditionImageValidation reports whether the image can be booted.
	ConditionImageValidation = "ImageValidation"
	// ConditionIgnitionDataFetched reports whether the machine has fetched its ignition.
	ConditionIgnitionDataFetched = "IgnitionDataFetched"
	// ConditionIPXEScriptFetched reports whether the machine has fetched its iPXE script.
	ConditionIPXEScriptFetched = "IPXEScriptFetched"

	// ConditionBootServerHasImage is False while a boot server without Kubernetes of the machine's site cannot fetch or verify the image, or cannot use
	// what it is told of it. It is absent otherwise. What boots does not depend on it.
	ConditionBootServerHasImage = "BootServerHasImage"
	// ReasonNotFetched is the reason of ConditionBootServerHasImage.
	ReasonNotFetched = "NotFetched"

	// ReasonValidationFailed is a reason of ConditionImageValidation: the image cannot be booted.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonImageNotSigned is a reason of ConditionImageValidation: signatures are required, and no trusted key has signed the image.
	ReasonImageNotSigned = "ImageNotSigned"
	// ReasonImageNotResolved is a reason of ConditionImageValidation: the registry does not have the image, or denies it.
	ReasonImageNotResolved = "ImageNotResolved"
	// ReasonRegistryUnreachable is a reason of ConditionImageValidation: the registry does not answer. The condition is True while the
	// last known image can be booted.
	ReasonRegistryUnreachable = "RegistryUnreachable"
)

// Conditions of a ServerClaim.
const (
	// ConditionBound reports whether the claim has a server.
	ConditionBound = "Bound"

	// ReasonAllocated is a reason of ConditionBound: the claim has a server.
	ReasonAllocated = "Allocated"
	// ReasonNoMatchingServer is a reason of ConditionBound: no server matches the claim.
	ReasonNoMatchingServer = "NoMatchingServer"
	// ReasonAllMatchingServersBusy is a reason of ConditionBound: every matching server is taken or not ready.
	ReasonAllMatchingServersBusy = "AllMatchingServersBusy"
	// ReasonTaintNotTolerated is a reason of ConditionBound: the matching servers have a taint that the claim does not tolerate.
	ReasonTaintNotTolerated = "TaintNotTolerated"
	// ReasonInvalidName: an object has, or refers to another by, a name that no object can have.
	ReasonInvalidName = "InvalidName"
)

// Reasons of conditions and events about cleaning, operations and installing.
const (
	// ReasonProbeCannotClean is a reason of ConditionCleaned: the probe image does not clean.
	ReasonProbeCannotClean = "ProbeCannotClean"
	// ReasonReinstallPending means that the image or the ignition has changed and nobody asked for a reinstall.
	ReasonReinstallPending = "ReinstallPending"
	// ReasonUnsupportedOperation is the reason of the event for an unknown operation.
	ReasonUnsupportedOperation = "UnsupportedOperation"
	// ReasonOperationOutcomeUnknown is the reason of the event for an operation whose end Farrier did not observe.
	ReasonOperationOutcomeUnknown = "OperationOutcomeUnknown"
	// ReasonParkDeferred is the reason of the event for a park that has to wait.
	ReasonParkDeferred = "ParkDeferred"
	// ReasonParkedOperationDropped is the reason of the event for an operation on a parked server.
	ReasonParkedOperationDropped = "ParkedOperationDropped"
)
