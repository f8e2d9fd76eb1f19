package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	// BMCSecretUsernameKey is the key of the user name.
	BMCSecretUsernameKey = "username"
	// BMCSecretPasswordKey is the key of the password.
	BMCSecretPasswordKey = "password"
	// BMCSecretNextPasswordKey is the key of the new password during a rotation. Farrier writes it before it changes the password
	// at the BMC and moves it to BMCSecretPasswordKey afterwards; after a crash one of the two passwords is valid.
	BMCSecretNextPasswordKey = "password.next"
)

// BMCSecret holds the credentials of a BMC, in the form of a core Secret. With the annotation farrier.dev/secret it stands for a
// core Secret instead.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=bmcsec
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.immutable) || !oldSelf.immutable || (has(self.immutable) && self.immutable)",message="immutable cannot be taken back",fieldPath=".immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.immutable) || !oldSelf.immutable || (has(self.data) ? has(oldSelf.data) && self.data == oldSelf.data : !has(oldSelf.data))",message="data is immutable",fieldPath=".data"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.immutable) || !oldSelf.immutable || (has(self.stringData) ? has(oldSelf.stringData) && self.stringData == oldSelf.stringData : !has(oldSelf.stringData))",message="stringData is immutable",fieldPath=".stringData"
type BMCSecret struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Immutable, if true, forbids changes to the data. It cannot be set back to false. The default is false.
	// +optional
	Immutable *bool `json:"immutable,omitempty"`

	// Data holds the credentials, base64-encoded, under the keys username and password.
	// +optional
	Data map[string][]byte `json:"data,omitempty"`

	// StringData holds the credentials as plain text. A key in data takes precedence.
	// +optional
	StringData map[string]string `json:"stringData,omitempty"`

	// Type of the Secret. Farrier ignores it.
	// +optional
	Type string `json:"type,omitempty"`
}

// BMCSecretList is a list of BMCSecrets.
// +kubebuilder:object:root=true
type BMCSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCSecret `json:"items"`
}

func init() { register(&BMCSecret{}, &BMCSecretList{}) }
