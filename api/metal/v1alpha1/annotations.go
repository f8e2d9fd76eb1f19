package v1alpha1

// Annotations of the contract.
const (
	// AnnotationOperation asks for one operation. Farrier removes it when the operation is done. Its value is one of the
	// Operation constants; Farrier removes any other value with a warning event.
	AnnotationOperation = "metal.ironcore.dev/operation"

	// AnnotationParked, with the value "true", marks a Server as parked, also if its status is lost. Farrier writes it.
	AnnotationParked = "metal.ironcore.dev/parked"

	// AnnotationType holds the purpose of a ServerBootConfiguration.
	AnnotationType = "metal.ironcore.dev/type"

	// AnnotationIsDefaultOSImage, with the value "true", marks a ServerBootConfiguration that boots the discovery image.
	AnnotationIsDefaultOSImage = "metal.ironcore.dev/is-default-os-image"

	// AnnotationMaintenanceReason, on a ServerClaim, is the reason for a maintenance, for the owner of the claim.
	AnnotationMaintenanceReason = "metal.ironcore.dev/maintenance-reason"

	// AnnotationReason, on a ServerMaintenance, is the reason for it. A printer column shows it.
	AnnotationReason = "metal.ironcore.dev/reason"

	// AnnotationBootstrapCompletedPrefix, followed by the name of a readiness rule, records on a Server that it had all
	// conditions of the rule once.
	AnnotationBootstrapCompletedPrefix = "readiness.metal.ironcore.dev/bootstrap-completed-"

	// MetadataPrefix starts the keys of those labels and annotations of a Server that the metadata service gives to the machine.
	// The keys location, rack, shelf and height place the server in a rack view.
	MetadataPrefix = "metadata.metal.ironcore.dev/"
)

const (
	// AnnotationTrue is the value of an annotation that switches something on.
	AnnotationTrue = "true"

	// TypeInternal is the value of AnnotationType on the discovery boot configuration.
	TypeInternal = "Internal"

	// FieldManager is the field manager of Farrier's server-side apply.
	FieldManager = "metal.ironcore.dev/controller-manager"
)

// Operations, the values of AnnotationOperation.
const (
	// OperationIgnore stops Farrier from reconciling the object.
	OperationIgnore = "ignore"
	// OperationRetry repeats what has failed for good.
	OperationRetry = "retry"
	// OperationPark powers the server off once; Farrier leaves it alone from then on.
	OperationPark = "park"
	// OperationUnpark ends OperationPark.
	OperationUnpark = "unpark"
	// OperationRotateCredentials changes the password at the BMC.
	OperationRotateCredentials = "rotate-credentials"
	// OperationGracefulRestartServer asks the operating system to restart.
	OperationGracefulRestartServer = "graceful-restart-server"
	// OperationHardRestartServer resets the server.
	OperationHardRestartServer = "hard-restart-server"
	// OperationPowerCycleServer switches the power off and on again.
	OperationPowerCycleServer = "power-cycle-server"
	// OperationForceOffServer switches the power off.
	OperationForceOffServer = "force-off-server"
	// OperationForceOnServer switches the power on.
	OperationForceOnServer = "force-on-server"
	// OperationGracefulRestartBMC restarts the BMC.
	OperationGracefulRestartBMC = "graceful-restart-bmc"
	// OperationForceRestartBMC restarts the BMC over SSH, for a BMC whose Redfish service does not answer. Added by Farrier.
	OperationForceRestartBMC = "force-restart-bmc"
	// OperationAllowInProgressDelete allows to delete an object while it is being applied.
	OperationAllowInProgressDelete = "allow-in-progress-delete"
	// OperationAllowInProgressUpdate allows to change an object while it is being applied.
	OperationAllowInProgressUpdate = "allow-in-progress-update"
	// OperationRollback has the firmware of a BIOSVersion or a BMCVersion go back to the version before its update. Added by Farrier.
	OperationRollback = "rollback"

	// OperationIgnoreChild is OperationIgnore for the children of a set.
	OperationIgnoreChild = "ignore-child"
	// OperationRetryChild is OperationRetry for the children of a set.
	OperationRetryChild = "retry-child"
	// OperationIgnoreChildAndSelf is OperationIgnore for a set and its children.
	OperationIgnoreChildAndSelf = "ignore-child-and-self"
	// OperationRetryChildAndSelf is OperationRetry for a set and its children.
	OperationRetryChildAndSelf = "retry-child-and-self"
	// OperationIgnorePropagated marks a child that ignores because of its set.
	OperationIgnorePropagated = "ignore-propagated"
	// OperationRetryPropagated marks a child that retries because of its set.
	OperationRetryPropagated = "retry-propagated"
)

// Annotations of Farrier.
const (
	// AnnotationClaimedBy, on a Server, holds the UID of its present or last claim. Farrier writes it in the same patch as
	// serverClaimRef and removes it when the cleanup record exists, so that a dirty server is known even if its status is lost.
	// On a ServerBootConfiguration it holds the UID of the claim that it was made for, independent of its owner references.
	AnnotationClaimedBy = "farrier.dev/claimed-by"

	// AnnotationMadeFor, on an IPXEBootConfig and an HTTPBootConfig, holds the UID of the ServerBootConfiguration that it was
	// made for, and on a ServerBootConfiguration that of its ServerMaintenance, independent of owner references. An object with
	// it was not written by hand.
	AnnotationMadeFor = "farrier.dev/made-for"

	// AnnotationBootAttempt, on a ServerBootConfiguration, holds its boot attempt as JSON. Farrier writes each step before it
	// sends the command.
	AnnotationBootAttempt = "farrier.dev/boot-attempt"

	// AnnotationBootImage, on the ServerBootConfiguration of an internal boot, holds the layers of the image that the boot was ordered with, as JSON.
	// Farrier writes it with the attempt: whoever answers the machine gives it the same, whatever the tag names by then.
	AnnotationBootImage = "farrier.dev/boot-image"

	// AnnotationParkedOff marks a parked Server that was asked to shut down, which is done once, or is not to be asked. Its value is new each
	// time and means nothing else.
	AnnotationParkedOff = "farrier.dev/parked-off"

	// AnnotationParkedSince, on a parked Server, is when it was parked, as RFC 3339 spells times. It is for people.
	AnnotationParkedSince = "farrier.dev/parked-since"

	// AnnotationBoundTo, on a ServerBootConfiguration or a hand-written boot config, names the machine that booted by it, as
	// JSON: {"boot", "address", "mac"}. Only that machine gets the secrets of the boot.
	AnnotationBoundTo = "farrier.dev/bound-to"

	// AnnotationBootStreamAddress, on the Lease of the managers, is the host:port at which its holder serves the boot stream. The
	// holder writes it; without it the holder serves none.
	AnnotationBootStreamAddress = "farrier.dev/boot-stream-address"

	// AnnotationShards, on the Lease of the managers, says that BMCs are divided among managers: <number of shards> <identity of the holder>. It
	// counts as long as that identity is the holder of the Lease, or nobody is.
	AnnotationShards = "farrier.dev/shards"

	// AnnotationBootAcknowledged, on a ServerBootConfiguration, is the ID of the boot attempt that those who answer its machine have. Where
	// BMCs are divided among managers, the one that leads writes it for the one that switches the machine on.
	AnnotationBootAcknowledged = "farrier.dev/boot-acknowledged"

	// AnnotationBootAlarm, on a Server, holds the newest alarm about a boot of its machine, as JSON: {"reason", "message", "attempt", "at"}. Where
	// BMCs are divided among managers, the one that leads writes it for the one that looks after the Server.
	AnnotationBootAlarm = "farrier.dev/boot-alarm"

	// AnnotationFirstReader, with the value "true" on a hand-written boot config, binds its content to the machine that reads it
	// first.
	AnnotationFirstReader = "farrier.dev/first-reader"

	// AnnotationDisksRemoved, on a Server, lists the serial numbers of disks that a person has removed, separated by commas. A
	// cleanup record need not cover them.
	AnnotationDisksRemoved = "farrier.dev/disks-removed"

	// AnnotationInstalled, on a Server, holds what is installed on its disk: <boot configuration UID>/<image digest>.
	AnnotationInstalled = "farrier.dev/installed"

	// AnnotationOperationStarted holds the operation that was started: <operation>@<resourceVersion>. An operation runs at most
	// once.
	AnnotationOperationStarted = "farrier.dev/operation-started"

	// AnnotationCleanup, on a ServerClaim or a Server, asks for more cleaning than the default: Cleanup constants, separated by
	// commas.
	AnnotationCleanup = "farrier.dev/cleanup"

	// AnnotationBootPolicy, on a ServerClaim and its boot configuration, decides what a power-on boots. Its value is a
	// BootPolicy.
	AnnotationBootPolicy = "farrier.dev/boot-policy"

	// AnnotationReinstall, on a ServerClaim, asks to install again what is installed already.
	AnnotationReinstall = "farrier.dev/reinstall"

	// AnnotationKernelArgs, on a Server, holds kernel arguments that its boot script adds.
	AnnotationKernelArgs = "farrier.dev/kernel-args"

	// AnnotationImagePullSecret, on a ServerClaim or a ServerBootConfiguration, names the Secret, in the namespace of the object,
	// with the registry credentials for its image.
	AnnotationImagePullSecret = "farrier.dev/image-pull-secret"

	// AnnotationSecret makes a BMCSecret stand for a core Secret: <namespace>/<name>.
	AnnotationSecret = "farrier.dev/secret"

	// AnnotationDefaultCredentials, on a BMCSecret whose data are default credentials of a vendor, holds which ones they are and
	// when they were tried, as JSON. Without it the credentials are a user's own.
	AnnotationDefaultCredentials = "farrier.dev/default-credentials"

	// AnnotationCredentialsAccepted, on a BMC, names the default credentials that it accepts: <UID of the BMCSecret>/<position in
	// the trial>. It counts like AnnotationDefaultCredentials on the BMCSecret.
	AnnotationCredentialsAccepted = "farrier.dev/credentials-accepted"

	// AnnotationLastReset, on a BMC, is the time of its last reset (RFC 3339).
	AnnotationLastReset = "farrier.dev/last-reset"

	// AnnotationRotated, on the object that holds the credentials of a BMC, names the rotation that produced the present
	// password: <UID of the BMC>/<operation>@<resourceVersion>.
	AnnotationRotated = "farrier.dev/rotated"

	// AnnotationRotationRefused, on a BMC, is the time when it refused both the old and the new password of a rotation, and the
	// version of the object that holds them: <RFC 3339>@<resourceVersion>. Farrier tries neither for an hour, or until somebody
	// changes them.
	AnnotationRotationRefused = "farrier.dev/rotation-refused"
	// AnnotationRotationTried, on a BMC, are the logins of a rotation since it was last certain which password the BMC has, each noted before
	// it was made: old,next@<RFC 3339 of the last>, or old-refused@… once the BMC has refused one. However often processes end, the next one
	// knows of them, and the BMC does not lock the account.
	AnnotationRotationTried = "farrier.dev/rotation-tried"
	// AnnotationRotationLogin, on the object that holds the credentials of a BMC during a rotation, is Basic where the BMC refuses sessions. So
	// nobody has to find that out with a password that may be wrong.
	AnnotationRotationLogin = "farrier.dev/rotation-login"

	// AnnotationCredentialsOf, on a BMCSecret or Secret that Farrier created in place of one that it could not change, holds the
	// UID of the BMC that it is for.
	AnnotationCredentialsOf = "farrier.dev/credentials-of"

	// AnnotationInsteadOf, beside AnnotationCredentialsOf, names the replaced object and the reason why it stays as it is.
	AnnotationInsteadOf = "farrier.dev/instead-of"

	// AnnotationMake, on a BMC, names the vendor of its SSH command line. Farrier needs it when the BMC does not answer.
	AnnotationMake = "farrier.dev/bmc-make"

	// AnnotationKnownOver, on a BMC, records that it has answered over https. Farrier no longer sends its password over http,
	// until a person removes the annotation.
	AnnotationKnownOver = "farrier.dev/known-over"

	// AnnotationSSHHostKey, on a BMC, holds the host key of its SSH server that a person has accepted: the fingerprint, as
	// ssh-keygen -l prints it (SHA256:…), or the key in the form of authorized_keys. Farrier sends no password to a server with
	// another key, nor without this annotation.
	AnnotationSSHHostKey = "farrier.dev/ssh-host-key"

	// AnnotationRolloutPolicy, on a Set, names the RolloutPolicy that its changes go by. Farrier writes it on what the Set makes: such an object begins
	// only when the policy lets it. On an object that no Set has made a person may write it.
	AnnotationRolloutPolicy = "farrier.dev/rollout-policy"

	// AnnotationRolloutPermit, on what goes by a RolloutPolicy, lets it begin, as JSON: since when, and when and how it ended. Farrier removes it when the change
	// becomes another one.
	AnnotationRolloutPermit = "farrier.dev/rollout-permit"

	// AnnotationProbeBoot, on a Server, asks for one boot of the discovery image, once the Server is Available: any text, another one for each boot.
	// Rollouts write it, and a person may.
	AnnotationProbeBoot = "farrier.dev/probe-boot"

	// AnnotationProbeBooted, on a Server, is what became of the boot that AnnotationProbeBoot asked for last, as JSON.
	AnnotationProbeBooted = "farrier.dev/probe-booted"

	// AnnotationRollout, on a Set, keeps its rollout from going on: RolloutPaused or RolloutAborted.
	AnnotationRollout = "farrier.dev/rollout"

	// AnnotationFailuresAccepted, on a Set, is how many failures of its rollout a person has looked at, and with which metadata.generation of the Set:
	// <number>@<generation>. The limits count from there. With another template it says nothing.
	AnnotationFailuresAccepted = "farrier.dev/failures-accepted"

	// AnnotationCertificate, on a BMC or a Server with an inline BMC, holds the SHA-256 fingerprint of the TLS certificate that a
	// person has accepted, as openssl x509 -noout -fingerprint -sha256 prints it. Farrier trusts this certificate, whatever its
	// name, dates and issuer are, and no other. A value that is no fingerprint trusts none.
	AnnotationCertificate = "farrier.dev/certificate"
)

// What a person has said of a rollout, the values of AnnotationRollout.
const (
	// RolloutPaused: nothing further begins.
	RolloutPaused = "paused"
	// RolloutAborted: nothing further begins, and what may begin and has not loses its permit.
	RolloutAborted = "aborted"
)

// Ways of cleaning, the values of AnnotationCleanup.
const (
	// CleanupNone cleans nothing.
	CleanupNone = "none"
	// CleanupMetadata wipes partition tables and the signatures of RAIDs and file systems.
	CleanupMetadata = "metadata"
	// CleanupFull wipes every disk by the best method that it supports.
	CleanupFull = "full"
	// CleanupBootOrder restores the boot order.
	CleanupBootOrder = "boot-order"
	// CleanupBIOSDefaults restores the default settings of the BIOS.
	CleanupBIOSDefaults = "bios-defaults"
)

// BootPolicy decides what a power-on boots.
type BootPolicy string

const (
	// BootPolicyAlways boots from the network at every power-on. It is the default.
	BootPolicyAlways BootPolicy = "Always"
	// BootPolicyOnce boots from the network until the machine reports that it is installed, and from disk from then on.
	BootPolicyOnce BootPolicy = "Once"
)
