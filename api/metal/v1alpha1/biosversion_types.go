package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BIOSVersionTemplate defines a version of a BIOS, independent of the server it is for.
type BIOSVersionTemplate struct {
	VersionTemplate `json:",inline"`
}

// BIOSVersionSpec defines the version that the BIOS of one server should have.
type BIOSVersionSpec struct {
	BIOSVersionTemplate `json:",inline"`

	// ServerRef names the Server. It cannot be changed once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef is immutable"
	ServerRef *LocalObjectReference `json:"serverRef,omitempty"`

	// ServerMaintenanceRef names the ServerMaintenance in which the update takes place. Farrier creates one and sets the reference if
	// it is empty.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`
}

// BIOSVersion defines the version that the BIOS of a server should have. Farrier updates it in a maintenance of the server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=biosversions,scope=Cluster,shortName=biosv
// +kubebuilder:printcolumn:name="BIOSVersion",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="UpdatePolicy",type=string,JSONPath=`.spec.updatePolicy`
// +kubebuilder:printcolumn:name="ServerRef",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="ServerMaintenanceRef",type=string,JSONPath=`.spec.serverMaintenanceRef.name`
// +kubebuilder:printcolumn:name="TaskState",type=string,JSONPath=`.status.upgradeTask.state`
// +kubebuilder:printcolumn:name="TaskStatus",type=string,JSONPath=`.status.upgradeTask.status`
// +kubebuilder:printcolumn:name="TaskProgress",type=integer,JSONPath=`.status.upgradeTask.percentageComplete`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BIOSVersion struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BIOSVersionSpec `json:"spec,omitempty"`
	// +optional
	Status VersionStatus `json:"status,omitempty"`
}

// BIOSVersionList is a list of BIOSVersions.
// +kubebuilder:object:root=true
type BIOSVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BIOSVersion `json:"items"`
}

func init() { register(&BIOSVersion{}, &BIOSVersionList{}) }
