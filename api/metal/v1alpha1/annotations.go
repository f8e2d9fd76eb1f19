package v1alpha1

// Annotations of the contract.
const (
	// AnnotationOperation asks for one operation and is removed when that is done. Its value is
	// one of the Operation constants; another value is removed with a warning event.
	AnnotationOperation = "metal.ironcore.dev/operation"

	// AnnotationParked, with the value "true", says that a Server is parked. It outlives a wiped status.
	AnnotationParked = "metal.ironcore.dev/parked"

	// AnnotationType says what a ServerBootConfiguration is for.
	AnnotationType = "metal.ironcore.dev/type"

	// AnnotationIsDefaultOSImage, with the value "true", marks a ServerBootConfiguration that boots
	// the discovery image.
	AnnotationIsDefaultOSImage = "metal.ironcore.dev/is-default-os-image"

	// AnnotationMaintenanceReason says on a ServerClaim why a maintenance is needed.
	AnnotationMaintenanceReason = "metal.ironcore.dev/maintenance-reason"

	// AnnotationReason says on a ServerMaintenance why it is needed; its column shows it.
	AnnotationReason = "metal.ironcore.dev/reason"

	// AnnotationBootstrapCompletedPrefix, followed by the name of a readiness rule, says on a
	// Server that the rule was fulfilled once.
	AnnotationBootstrapCompletedPrefix = "readiness.metal.ironcore.dev/bootstrap-completed-"

	// MetadataPrefix starts the labels and annotations of a Server that the metadata service
	// exports; location, rack, shelf and height place it in a rack view.
	MetadataPrefix = "metadata.metal.ironcore.dev/"
)

const (
	// AnnotationTrue is the value of an annotation that says yes.
	AnnotationTrue = "true"

	// TypeInternal is the value of AnnotationType on the discovery boot configuration.
	TypeInternal = "Internal"

	// FieldManager is the name under which the controllers apply.
	FieldManager = "metal.ironcore.dev/controller-manager"
)

// Operations, the values of AnnotationOperation.
const (
	// OperationIgnore keeps the controllers from reconciling the object.
	OperationIgnore = "ignore"
	// OperationRetry tries again what has failed for good.
	OperationRetry = "retry"
	// OperationPark powers the server off once and leaves it alone from then on.
	OperationPark = "park"
	// OperationUnpark takes a parked server up again.
	OperationUnpark = "unpark"
	// OperationRotateCredentials changes the password at the BMC.
	OperationRotateCredentials = "rotate-credentials"
	// OperationGracefulRestartServer asks the operating system to restart.
	OperationGracefulRestartServer = "graceful-restart-server"
	// OperationHardRestartServer resets the server.
	OperationHardRestartServer = "hard-restart-server"
	// OperationPowerCycleServer takes the power away and gives it back.
	OperationPowerCycleServer = "power-cycle-server"
	// OperationForceOffServer takes the power away.
	OperationForceOffServer = "force-off-server"
	// OperationForceOnServer gives power.
	OperationForceOnServer = "force-on-server"
	// OperationGracefulRestartBMC restarts the BMC.
	OperationGracefulRestartBMC = "graceful-restart-bmc"
	// OperationForceRestartBMC restarts the BMC over SSH, past a Redfish service that does not answer. Added
	// by Farrier.
	OperationForceRestartBMC = "force-restart-bmc"
	// OperationAllowInProgressDelete lets an object be deleted while it is being applied.
	OperationAllowInProgressDelete = "allow-in-progress-delete"
	// OperationAllowInProgressUpdate lets an object be changed while it is being applied.
	OperationAllowInProgressUpdate = "allow-in-progress-update"

	// OperationIgnoreChild is passed on to the children of a set.
	OperationIgnoreChild = "ignore-child"
	// OperationRetryChild is passed on to the children of a set.
	OperationRetryChild = "retry-child"
	// OperationIgnoreChildAndSelf holds for a set and its children.
	OperationIgnoreChildAndSelf = "ignore-child-and-self"
	// OperationRetryChildAndSelf holds for a set and its children.
	OperationRetryChildAndSelf = "retry-child-and-self"
	// OperationIgnorePropagated is what a child carries of an ignore passed on.
	OperationIgnorePropagated = "ignore-propagated"
	// OperationRetryPropagated is what a child carries of a retry passed on.
	OperationRetryPropagated = "retry-propagated"
)

// Annotations of Farrier.
const (
	// AnnotationClaimedBy holds, on a Server, the UID of the claim that has it or had it. It is
	// written in the same patch as serverClaimRef and removed when the cleanup record
	// exists, so that a dirty server is known as one whatever happens to its status. On a
	// ServerBootConfiguration it holds the UID of the claim that it was made for, whatever becomes of its owner.
	AnnotationClaimedBy = "farrier.dev/claimed-by"

	// AnnotationMadeFor holds, on an IPXEBootConfig and an HTTPBootConfig, the UID of the ServerBootConfiguration that they were made
	// for, and on a ServerBootConfiguration that of its ServerMaintenance, whatever becomes of their owner. What carries it was
	// not written by hand.
	AnnotationMadeFor = "farrier.dev/made-for"

	// AnnotationBootAttempt holds, on a ServerBootConfiguration, its boot attempt as JSON. Each
	// step is written before its command is given.
	AnnotationBootAttempt = "farrier.dev/boot-attempt"

	// AnnotationBoundTo holds, on a ServerBootConfiguration, or on a boot config that somebody wrote by hand, as JSON who booted by
	// it: {"boot", "address", "mac"}. What is secret in that boot is for them alone.
	AnnotationBoundTo = "farrier.dev/bound-to"

	// AnnotationFirstReader binds, on a boot config that somebody wrote by hand, what it serves to whom reads it first, if it is "true".
	AnnotationFirstReader = "farrier.dev/first-reader"

	// AnnotationDisksRemoved names, on a Server, the serial numbers of disks that a person took out: a comma list. A wipe need not
	// mention them.
	AnnotationDisksRemoved = "farrier.dev/disks-removed"

	// AnnotationInstalled holds, on a Server, what is installed on its disk:
	// <boot configuration UID>/<image digest>.
	AnnotationInstalled = "farrier.dev/installed"

	// AnnotationOperationStarted holds an operation that was begun:
	// <operation>@<resourceVersion>. Operations run at most once.
	AnnotationOperationStarted = "farrier.dev/operation-started"

	// AnnotationCleanup asks, on a ServerClaim or a Server, for more cleaning than the default: a comma
	// list of the Cleanup constants.
	AnnotationCleanup = "farrier.dev/cleanup"

	// AnnotationBootPolicy says, on a ServerClaim and its boot configuration, what a power-on boots.
	// Its value is a BootPolicy.
	AnnotationBootPolicy = "farrier.dev/boot-policy"

	// AnnotationReinstall asks, on a ServerClaim, to install again what is installed already.
	AnnotationReinstall = "farrier.dev/reinstall"

	// AnnotationKernelArgs holds, on a Server, kernel arguments that its boot script adds.
	AnnotationKernelArgs = "farrier.dev/kernel-args"

	// AnnotationImagePullSecret names, on a ServerClaim or a ServerBootConfiguration, the Secret of
	// its own namespace with which its image is pulled.
	AnnotationImagePullSecret = "farrier.dev/image-pull-secret"

	// AnnotationSecret makes a BMCSecret stand for a core Secret: <namespace>/<name>.
	AnnotationSecret = "farrier.dev/secret"

	// AnnotationDefaultCredentials holds, on a BMCSecret whose data is one of the default credentials of a
	// make, which one and when it was tried, as JSON. Without it the credentials are somebody's own.
	AnnotationDefaultCredentials = "farrier.dev/default-credentials"

	// AnnotationCredentialsAccepted holds, on a BMC, which default credentials it takes:
	// <UID of the BMCSecret>/<position in its trial>. It counts as if the BMCSecret said so.
	AnnotationCredentialsAccepted = "farrier.dev/credentials-accepted"

	// AnnotationLastReset holds, on a BMC, when it was last reset (RFC 3339).
	AnnotationLastReset = "farrier.dev/last-reset"

	// AnnotationRotated holds, on what keeps the credentials of a BMC, the rotation that the present password
	// is the result of: <UID of the BMC>/<operation>@<resourceVersion>.
	AnnotationRotated = "farrier.dev/rotated"

	// AnnotationRotationRefused holds, on a BMC, when it refused both the old and the new password of a
	// rotation, and the version of what keeps them: <RFC 3339>@<resourceVersion>. For an hour after
	// that, or until somebody changes them, neither is tried again.
	AnnotationRotationRefused = "farrier.dev/rotation-refused"

	// AnnotationCredentialsOf holds, on a BMCSecret or Secret that Farrier made in place of one that it could
	// not change, the UID of the BMC that it is for.
	AnnotationCredentialsOf = "farrier.dev/credentials-of"

	// AnnotationInsteadOf says beside it, in words, what that one is and why it stays as it is.
	AnnotationInsteadOf = "farrier.dev/instead-of"

	// AnnotationMake holds, on a BMC, whose command line its SSH server has: it is needed when the BMC does not answer.
	AnnotationMake = "farrier.dev/bmc-make"

	// AnnotationKnownOver says, on a BMC, that it has answered over https: its password is not sent over http any more, until
	// a person removes the annotation.
	AnnotationKnownOver = "farrier.dev/known-over"

	// AnnotationSSHHostKey holds, on a BMC, the key of its SSH server that a person has accepted: the fingerprint, as
	// ssh-keygen -l prints it (SHA256:…), or the key in the form of authorized_keys. To a server with another key, and while
	// there is no annotation, no password is told.
	AnnotationSSHHostKey = "farrier.dev/ssh-host-key"
)

// Ways of cleaning, the values of AnnotationCleanup.
const (
	// CleanupNone cleans nothing.
	CleanupNone = "none"
	// CleanupMetadata wipes partition tables and the signatures of RAIDs and file systems.
	CleanupMetadata = "metadata"
	// CleanupFull wipes every disk by the best means it has.
	CleanupFull = "full"
	// CleanupBootOrder restores the boot order.
	CleanupBootOrder = "boot-order"
	// CleanupBIOSDefaults restores the defaults of the BIOS.
	CleanupBIOSDefaults = "bios-defaults"
)

// BootPolicy says what a power-on boots.
type BootPolicy string

const (
	// BootPolicyAlways makes every power-on a network boot; the default.
	BootPolicyAlways BootPolicy = "Always"
	// BootPolicyOnce boots from the network until the machine says that it is installed, and from disk then.
	BootPolicyOnce BootPolicy = "Once"
)
