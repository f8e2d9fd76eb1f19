package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerMaintenancePolicy says whose word a maintenance needs.
type ServerMaintenancePolicy string

const (
	// ServerMaintenancePolicyOwnerApproval waits for the approval label on the claim.
	ServerMaintenancePolicyOwnerApproval ServerMaintenancePolicy = "OwnerApproval"
	// ServerMaintenancePolicyEnforced waits for nobody.
	ServerMaintenancePolicyEnforced ServerMaintenancePolicy = "Enforced"
)

// ServerMaintenanceState says where a maintenance is.
type ServerMaintenanceState string

const (
	// ServerMaintenanceStatePending means waiting for approval or for its turn.
	ServerMaintenanceStatePending ServerMaintenanceState = "Pending"
	// ServerMaintenanceStateInMaintenance means that it has the server.
	ServerMaintenanceStateInMaintenance ServerMaintenanceState = "InMaintenance"
	// ServerMaintenanceStateFailed means that it cannot be done; the conditions say why.
	ServerMaintenanceStateFailed ServerMaintenanceState = "Failed"
)

// ServerBootConfigurationTemplate is what a ServerBootConfiguration is made from.
type ServerBootConfigurationTemplate struct {
	// Name of the ServerBootConfiguration.
	Name string `json:"name"`

	// Spec of the ServerBootConfiguration.
	Spec ServerBootConfigurationSpec `json:"spec"`
}

// ServerMaintenanceSpec says what is asked of a server while it is worked on.
type ServerMaintenanceSpec struct {
	// Policy says whose word the maintenance needs.
	// +optional
	Policy ServerMaintenancePolicy `json:"policy,omitempty"`

	// ServerRef names the server.
	ServerRef LocalObjectReference `json:"serverRef"`

	// ServerPower is the wanted power state during the maintenance.
	// +optional
	ServerPower Power `json:"serverPower,omitempty"`

	// LocatorLED is the wanted state of the light during the maintenance.
	// +optional
	LocatorLED IndicatorLED `json:"locatorLED,omitempty"`

	// Priority among the maintenances of one server, higher first.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`

	// ServerBootConfigurationTemplate is what the server boots during the maintenance.
	// +optional
	ServerBootConfigurationTemplate *ServerBootConfigurationTemplate `json:"serverBootConfigurationTemplate,omitempty"`
}

// ServerMaintenanceStatus says where a maintenance is.
type ServerMaintenanceStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the maintenance.
	// +optional
	State ServerMaintenanceState `json:"state,omitempty"`

	// Conditions explain the state. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerMaintenance asks to have a server, claimed or not, for a while.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sm
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="BootConfiguration",type=string,JSONPath=`.spec.serverBootConfigurationTemplate.name`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.metadata.annotations.metal\.ironcore\.dev\/reason`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type ServerMaintenance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServerMaintenanceSpec `json:"spec,omitempty"`
	// +optional
	Status ServerMaintenanceStatus `json:"status,omitempty"`
}

// ServerMaintenanceList is a list of ServerMaintenances.
// +kubebuilder:object:root=true
type ServerMaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServerMaintenance `json:"items"`
}
