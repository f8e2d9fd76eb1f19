package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BIOSSettingsState says where settings are on their way to the BIOS.
type BIOSSettingsState string

const (
	// BIOSSettingsStatePending means waiting for the version or for a maintenance.
	BIOSSettingsStatePending BIOSSettingsState = "Pending"
	// BIOSSettingsStateInProgress means being applied.
	BIOSSettingsStateInProgress BIOSSettingsState = "InProgress"
	// BIOSSettingsStateApplied means applied and verified.
	BIOSSettingsStateApplied BIOSSettingsState = "Applied"
	// BIOSSettingsStateFailed means that they could not be applied; the conditions say why.
	BIOSSettingsStateFailed BIOSSettingsState = "Failed"
)

// SettingsFlowItem is one step of an ordered flow of settings.
type SettingsFlowItem struct {
	// Name of the step.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	Name string `json:"name"`

	// Settings that the step applies, by attribute name.
	// +optional
	Settings map[string]string `json:"settings,omitempty"`

	// Priority orders the steps, lower first.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483645
	Priority int32 `json:"priority"`
}

// BIOSSettingsTemplate is what is wanted of a BIOS, whichever server it is in.
type BIOSSettingsTemplate struct {
	// Version of the BIOS that the settings are for.
	Version string `json:"version"`

	// SettingsFlow are the settings, in ordered steps.
	// +optional
	SettingsFlow []SettingsFlowItem `json:"settingsFlow,omitempty"`

	// ServerMaintenancePolicy is the policy of the maintenance that applying the settings asks for.
	// +optional
	ServerMaintenancePolicy ServerMaintenancePolicy `json:"serverMaintenancePolicy,omitempty"`

	// RetryPolicy bounds how often a failure is retried.
	// +optional
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
}

// BIOSSettingsSpec says what is wanted of the BIOS of one server.
type BIOSSettingsSpec struct {
	BIOSSettingsTemplate `json:",inline"`

	// ServerRef names the server.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef is immutable"
	ServerRef *LocalObjectReference `json:"serverRef,omitempty"`

	// ServerMaintenanceRef names the maintenance in which the settings are applied.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`
}

// BIOSSettingsFlowStatus says where one step of a flow is.
type BIOSSettingsFlowStatus struct {
	// Name of the step.
	// +optional
	Name string `json:"name,omitempty"`

	// Priority of the step.
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// State of the step.
	// +optional
	State BIOSSettingsState `json:"flowState,omitempty"`

	// LastAppliedTime is when the step was last applied.
	// +optional
	LastAppliedTime *metav1.Time `json:"lastAppliedTime,omitempty"`

	// Conditions explain the state of the step.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSSettingsStatus says where settings are on their way to the BIOS.
type BIOSSettingsStatus struct {
	// ObservedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the settings.
	// +optional
	State BIOSSettingsState `json:"state,omitempty"`

	// FlowState is the state of each step.
	// +optional
	FlowState []BIOSSettingsFlowStatus `json:"flowState,omitempty"`

	// LastAppliedTime is when the settings were last applied.
	// +optional
	LastAppliedTime *metav1.Time `json:"lastAppliedTime,omitempty"`

	// FailedAttempts counts the attempts that failed.
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Conditions explain the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSSettings are settings that the BIOS of a server should have.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=biossettings,scope=Cluster,shortName=bioss
// +kubebuilder:printcolumn:name="BIOSVersion",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="ServerRef",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="ServerMaintenanceRef",type=string,JSONPath=`.spec.serverMaintenanceRef.name`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="AppliedOn",type=date,JSONPath=`.status.lastAppliedTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BIOSSettings struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BIOSSettingsSpec `json:"spec,omitempty"`
	// +optional
	Status BIOSSettingsStatus `json:"status,omitempty"`
}

// BIOSSettingsList is a list of BIOSSettings.
// +kubebuilder:object:root=true
type BIOSSettingsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BIOSSettings `json:"items"`
}
