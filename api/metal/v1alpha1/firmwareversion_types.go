package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpdatePolicy says how an update treats the rules of the vendor.
type UpdatePolicy string

// UpdatePolicyForce has the BMC pass over its own rules, such as that against an older version.
const UpdatePolicyForce UpdatePolicy = "Force"

// VersionState is the progress of an update of firmware.
type VersionState string

const (
	// VersionStatePending means that the update waits.
	VersionStatePending VersionState = "Pending"
	// VersionStateInProgress means that the update is under way.
	VersionStateInProgress VersionState = "InProgress"
	// VersionStateCompleted means that the firmware has the version.
	VersionStateCompleted VersionState = "Completed"
	// VersionStateFailed means that the update failed; the conditions give the reason.
	VersionStateFailed VersionState = "Failed"
)

// SecretReference names a Secret in a namespace. Its JSON is that of the core type of the same name.
// +structType=atomic
type SecretReference struct {
	// Name of the Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name,omitempty"`

	// Namespace of the Secret. The default is the namespace of Farrier.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`
}

// ImageSpec defines where an image of firmware is.
type ImageSpec struct {
	// SecretRef names the Secret with the keys username and password for the server of the image.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// TransferProtocol is the protocol by which the BMC fetches the image, as Redfish names it: HTTP, HTTPS, NFS, …. The default is
	// that of the URI.
	// +optional
	TransferProtocol string `json:"transferProtocol,omitempty"`

	// URI of the image. A fragment of #sha256= and 64 hexadecimal digits is the digest that the image must have.
	URI string `json:"URI"`
}

// VersionTemplate defines a version of firmware, independent of what it is for.
type VersionTemplate struct {
	// Version that the firmware should have. Versions are compared as versions: 2.10 is newer than 2.9, and 2.4 is 2.4.0.
	Version string `json:"version"`

	// UpdatePolicy is Force if the BMC should pass over its own rules, such as that against an older version.
	// +optional
	UpdatePolicy *UpdatePolicy `json:"updatePolicy,omitempty"`

	// Image is the firmware.
	Image ImageSpec `json:"image"`

	// ServerMaintenancePolicy is the policy of the ServerMaintenances that Farrier requests for the update: Enforced, or
	// OwnerApproval, the default.
	// +optional
	ServerMaintenancePolicy ServerMaintenancePolicy `json:"serverMaintenancePolicy,omitempty"`

	// RetryPolicy limits how often a failed attempt is repeated. The default is not to repeat it.
	// +optional
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
}

// UpgradeTask is what the BMC reports about the update.
type UpgradeTask struct {
	// URI of the task or job at the BMC.
	// +optional
	URI string `json:"URI,omitempty"`

	// State of the task, in the word of the BMC.
	// +optional
	State string `json:"state,omitempty"`

	// Status is the last message of the task.
	// +optional
	Status string `json:"status,omitempty"`

	// PercentageComplete is the progress of the task.
	// +optional
	PercentageComplete int32 `json:"percentageComplete,omitempty"`
}

// VersionStatus reports the progress of an update. Farrier writes it.
type VersionStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Pending while the update waits, InProgress while it is under way, Completed when the BMC reports the version, and
	// Failed when a person is needed.
	// +optional
	State VersionState `json:"state,omitempty"`

	// UpgradeTask is what the BMC reports about the update.
	// +optional
	UpgradeTask *UpgradeTask `json:"upgradeTask,omitempty"`

	// FailedAttempts is the number of attempts that have failed.
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
