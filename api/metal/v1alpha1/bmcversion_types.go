package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BMCVersionTemplate defines a version of the firmware of a BMC, independent of the BMC it is for.
type BMCVersionTemplate struct {
	VersionTemplate `json:",inline"`
}

// BMCVersionSpec defines the version that the firmware of one BMC should have.
type BMCVersionSpec struct {
	BMCVersionTemplate `json:",inline"`

	// BMCRef names the BMC. It cannot be changed once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bmcRef is immutable"
	BMCRef *LocalObjectReference `json:"bmcRef,omitempty"`

	// ServerMaintenanceRefs name the ServerMaintenances in which the update takes place, one for each Server of the BMC. Farrier
	// creates those that are missing and sets the references.
	// +optional
	ServerMaintenanceRefs []ObjectReference `json:"serverMaintenanceRefs,omitempty"`
}

// BMCVersion defines the version that the firmware of a BMC should have. Farrier updates it in a maintenance of its servers.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bmcversions,scope=Cluster,shortName=bmcv
// +kubebuilder:printcolumn:name="BMCVersion",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="UpdatePolicy",type=string,JSONPath=`.spec.updatePolicy`
// +kubebuilder:printcolumn:name="BMCRef",type=string,JSONPath=`.spec.bmcRef.name`
// +kubebuilder:printcolumn:name="TaskProgress",type=integer,JSONPath=`.status.upgradeTask.percentageComplete`
// +kubebuilder:printcolumn:name="TaskState",type=string,JSONPath=`.status.upgradeTask.state`
// +kubebuilder:printcolumn:name="TaskStatus",type=string,JSONPath=`.status.upgradeTask.status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMCVersion struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCVersionSpec `json:"spec,omitempty"`
	// +optional
	Status VersionStatus `json:"status,omitempty"`
}

// BMCVersionList is a list of BMCVersions.
// +kubebuilder:object:root=true
type BMCVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCVersion `json:"items"`
}

func init() { register(&BMCVersion{}, &BMCVersionList{}) }
