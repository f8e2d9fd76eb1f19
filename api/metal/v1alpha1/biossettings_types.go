package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BIOSSettingsState is the progress of applying BIOSSettings.
type BIOSSettingsState string

const (
	// BIOSSettingsStatePending means that the settings wait for the BIOS version or for a maintenance.
	BIOSSettingsStatePending BIOSSettingsState = "Pending"
	// BIOSSettingsStateInProgress means that Farrier is applying the settings.
	BIOSSettingsStateInProgress BIOSSettingsState = "InProgress"
	// BIOSSettingsStateApplied means that the settings are applied and verified.
	BIOSSettingsStateApplied BIOSSettingsState = "Applied"
	// BIOSSettingsStateFailed means that the settings could not be applied; the conditions give the reason.
	BIOSSettingsStateFailed BIOSSettingsState = "Failed"
)

// SettingsFlowItem is one step of an ordered flow of settings.
type SettingsFlowItem struct {
	// Name of the step, unique in the flow.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1000
	Name string `json:"name"`

	// Settings that the step applies: BIOS attribute name to value.
	// +optional
	Settings map[string]string `json:"settings,omitempty"`

	// Priority orders the steps: the lowest number is applied first.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483645
	Priority int32 `json:"priority"`
}

// BIOSSettingsTemplate defines BIOS settings, independent of the server they are for.
type BIOSSettingsTemplate struct {
	// Version of the BIOS that the settings are for. The settings wait while the BIOS has another version.
	Version string `json:"version"`

	// SettingsFlow lists the settings in steps.
	// +optional
	SettingsFlow []SettingsFlowItem `json:"settingsFlow,omitempty"`

	// ServerMaintenancePolicy is the policy of the ServerMaintenance that Farrier requests to apply the settings: Enforced, or
	// OwnerApproval, the default.
	// +optional
	ServerMaintenancePolicy ServerMaintenancePolicy `json:"serverMaintenancePolicy,omitempty"`

	// RetryPolicy limits how often a failed attempt is repeated. The default is not to repeat it.
	// +optional
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
}

// BIOSSettingsSpec defines the settings that the BIOS of one server should have.
type BIOSSettingsSpec struct {
	BIOSSettingsTemplate `json:",inline"`

	// ServerRef names the Server. It cannot be changed once it is set.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef is immutable"
	ServerRef *LocalObjectReference `json:"serverRef,omitempty"`

	// ServerMaintenanceRef names the ServerMaintenance in which the settings are applied. Farrier creates one and sets the
	// reference if it is empty.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`
}

// BIOSSettingsFlowStatus is the progress of one step of the flow.
type BIOSSettingsFlowStatus struct {
	// Name of the step.
	// +optional
	Name string `json:"name,omitempty"`

	// Priority of the step.
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// State of the step: Pending, InProgress, Applied or Failed.
	// +optional
	State BIOSSettingsState `json:"flowState,omitempty"`

	// LastAppliedTime is the time when the step was last applied.
	// +optional
	LastAppliedTime *metav1.Time `json:"lastAppliedTime,omitempty"`

	// Conditions give the reasons for the state of the step.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSSettingsStatus reports the progress of applying the settings. Farrier writes it.
type BIOSSettingsStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Pending while the settings wait, InProgress while they are applied, Applied when the BMC shows all of them, and
	// Failed when a person is needed.
	// +optional
	State BIOSSettingsState `json:"state,omitempty"`

	// FlowState is the progress of each step of the flow.
	// +optional
	FlowState []BIOSSettingsFlowStatus `json:"flowState,omitempty"`

	// LastAppliedTime is the time when the settings were last applied.
	// +optional
	LastAppliedTime *metav1.Time `json:"lastAppliedTime,omitempty"`

	// FailedAttempts is the number of attempts that have failed.
	// +optional
	FailedAttempts int32 `json:"failedAttempts,omitempty"`

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BIOSSettings defines the settings that the BIOS of a server should have. Farrier applies them in a maintenance of the server.
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

func init() { register(&BIOSSettings{}, &BIOSSettingsList{}) }
