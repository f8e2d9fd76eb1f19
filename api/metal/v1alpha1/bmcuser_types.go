package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BMCUserSpec defines an account at a BMC.
type BMCUserSpec struct {
	// UserName of the account. It cannot be changed.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="userName is immutable"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9._-]+$')",message="must consist of letters, digits and . _ -"
	UserName string `json:"userName"`

	// RoleID of the account at the BMC: Administrator, Operator, ReadOnly, or another role that the BMC has.
	// +kubebuilder:validation:MaxLength=64
	RoleID string `json:"roleID"`

	// Description of the account, for people.
	// +optional
	Description string `json:"description,omitempty"`

	// RotationPeriod is how long a password stays in use, such as 720h. The default is forever. It has no effect on a password that
	// bmcSecretRef gives.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1h')",message="must be a duration of at least 1h, such as 720h"
	RotationPeriod string `json:"rotationPeriod,omitempty"`

	// BMCSecretRef names a BMCSecret with the password of the account. Farrier makes a password if it is empty.
	// +optional
	BMCSecretRef *LocalObjectReference `json:"bmcSecretRef,omitempty"`

	// BMCRef names the BMC. It cannot be changed once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="bmcRef is immutable"
	BMCRef *LocalObjectReference `json:"bmcRef,omitempty"`
}

// BMCUserStatus reports what Farrier knows of the account. Farrier writes it.
type BMCUserStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// EffectiveBMCSecretRef names the immutable BMCSecret with the user name and the password with which Farrier has last logged in
	// to the account.
	// +optional
	EffectiveBMCSecretRef *LocalObjectReference `json:"effectiveBMCSecretRef,omitempty"`

	// LastRotation is the time when that password was set.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`

	// PasswordExpiration is the time when the password expires, as the BMC says.
	// +optional
	PasswordExpiration *metav1.Time `json:"passwordExpiration,omitempty"`

	// ID of the account at the BMC.
	// +optional
	ID string `json:"id,omitempty"`

	// Conditions give the reasons.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMCUser defines an account at a BMC: for a person or a program, with a password that Farrier makes, keeps and replaces.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bmcu
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="UserName",type=string,JSONPath=`.spec.userName`
// +kubebuilder:printcolumn:name="RoleID",type=string,JSONPath=`.spec.roleID`
// +kubebuilder:printcolumn:name="LastRotation",type=date,JSONPath=`.status.lastRotation`
// +kubebuilder:printcolumn:name="PasswordExpiration",type=date,JSONPath=`.status.passwordExpiration`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMCUser struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCUserSpec `json:"spec,omitempty"`
	// +optional
	Status BMCUserStatus `json:"status,omitempty"`
}

// BMCUserList is a list of BMCUsers.
// +kubebuilder:object:root=true
type BMCUserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCUser `json:"items"`
}

func init() { register(&BMCUser{}, &BMCUserList{}) }
