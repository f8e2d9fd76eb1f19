package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BMCSettingsState is the progress of applying BMCSettings.
type BMCSettingsState string

const (
	// BMCSettingsStatePending means that the settings wait for the BMC, its version, a variable or a maintenance.
	BMCSettingsStatePending BMCSettingsState = "Pending"
	// BMCSettingsStateInProgress means that Farrier is applying the settings.
	BMCSettingsStateInProgress BMCSettingsState = "InProgress"
	// BMCSettingsStateApplied means that the settings are applied and verified.
	BMCSettingsStateApplied BMCSettingsState = "Applied"
	// BMCSettingsStateFailed means that the settings could not be applied; the conditions give the reason.
	BMCSettingsStateFailed BMCSettingsState = "Failed"
)

// BMCSettingsTemplate defines BMC settings, independent of the BMC they are for.
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || self.variables.all(v, self.variables.filter(w, w.key == v.key).size() == 1)",message="variable keys must be unique"
type BMCSettingsTemplate struct {
	// Version of the BMC's firmware that the settings are for. The settings wait while the BMC has another version.
	Version string `json:"version"`

	// SettingsMap holds the settings: the name of an attribute of the BMC and its value, or "<METHOD> <URI>" and a JSON document that the
	// resource at the URI shall contain. $(KEY) stands for the value of a variable, $$(KEY) for the text $(KEY).
	// +optional
	SettingsMap map[string]string `json:"settings,omitempty"`

	// Variables are texts that settings contain. A variable may refer to those before it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Variables []Variable `json:"variables,omitempty"`

	// ServerMaintenancePolicy is the policy of the ServerMaintenances that Farrier requests to apply the settings: Enforced, or
	// OwnerApproval, the default.
	// +optional
	ServerMaintenancePolicy ServerMaintenancePolicy `json:"serverMaintenancePolicy,omitempty"`

	// RetryPolicy limits how often a failed attempt is repeated. The default is not to repeat it.
	// +optional
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
}

// Variable is a text that settings contain.
type Variable struct {
	// Key is the name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Key string `json:"key"`

	// ValueFrom says where the text is.
	ValueFrom *VariableSource `json:"valueFrom"`
}

// VariableSource says where the text of a variable is.
// +kubebuilder:validation:XValidation:rule="(has(self.fieldRef) ? 1 : 0) + (has(self.objectFieldRef) ? 1 : 0) + (has(self.configMapKeyRef) ? 1 : 0) + (has(self.secretKeyRef) ? 1 : 0) == 1",message="exactly one of fieldRef, objectFieldRef, configMapKeyRef, or secretKeyRef must be provided"
// +kubebuilder:validation:XValidation:rule="!has(self.objectFieldRef) || self.objectFieldRef.kind == 'BMC'",message="objectFieldRef.kind must be 'BMC'"
type VariableSource struct {
	// FieldRef names a field of the object itself.
	// +optional
	FieldRef *FieldRefSelector `json:"fieldRef,omitempty"`

	// ObjectFieldRef names a field of another object.
	// +optional
	ObjectFieldRef *ObjectFieldRefSelector `json:"objectFieldRef,omitempty"`

	// ConfigMapKeyRef names a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *NamespacedKeySelector `json:"configMapKeyRef,omitempty"`

	// SecretKeyRef names a key of a Secret. Its value appears in no status, event or log.
	// +optional
	SecretKeyRef *NamespacedKeySelector `json:"secretKeyRef,omitempty"`
}

// FieldRefSelector names a field of the object itself.
type FieldRefSelector struct {
	// FieldPath is the path of the field, such as metadata.labels['rack'] or spec.BMCRef.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FieldPath string `json:"fieldPath"`
}

// ObjectFieldRefSelector names a field of an object.
type ObjectFieldRefSelector struct {
	// Kind of the object: BMC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// FieldPath is the path of the field, such as status.serialNumber.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FieldPath string `json:"fieldPath"`
}

// NamespacedKeySelector names a key of an object in a namespace.
type NamespacedKeySelector struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Key within the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// ServerMaintenanceRefItem names one of the ServerMaintenances in which settings are applied.
type ServerMaintenanceRefItem struct {
	// ServerMaintenanceRef names the ServerMaintenance.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`
}

// BMCSettingsSpec defines the settings that one BMC should have.
type BMCSettingsSpec struct {
	BMCSettingsTemplate `json:",inline"`

	// BMCRef names the BMC. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="BMCRef is immutable"
	BMCRef *LocalObjectReference `json:"BMCRef"`

	// ServerMaintenanceRefs name the ServerMaintenances of the BMC's servers in which the settings are applied. Farrier creates one for
	// each server that has none here.
	// +optional
	ServerMaintenanceRefs []ServerMaintenanceRefItem `json:"serverMaintenanceRefs,omitempty"`
}

// BMCSettingsStatus reports the progress of applying the settings. Farrier writes it.
type BMCSettingsStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Pending while the settings wait, InProgress while they are applied, Applied when the BMC shows all of them, and
	// Failed when a person is needed.
	// +optional
	State BMCSettingsState `json:"state,omitempty"`

	// FailedAttempts is the number of attempts that have failed.
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMCSettings defines the settings that a BMC should have. Farrier applies them in a maintenance of all servers of the BMC.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bmcsettings,scope=Cluster
// +kubebuilder:printcolumn:name="BMCVersion",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="BMCRef",type=string,JSONPath=`.spec.BMCRef.name`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMCSettings struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCSettingsSpec `json:"spec,omitempty"`
	// +optional
	Status BMCSettingsStatus `json:"status,omitempty"`
}

// BMCSettingsList is a list of BMCSettings.
// +kubebuilder:object:root=true
type BMCSettingsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMCSettings `json:"items"`
}

func init() { register(&BMCSettings{}, &BMCSettingsList{}) }
