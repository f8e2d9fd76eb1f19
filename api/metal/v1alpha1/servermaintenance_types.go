package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServerMaintenancePolicy tells whether a maintenance needs approval.
type ServerMaintenancePolicy string

const (
	// ServerMaintenancePolicyOwnerApproval waits until the owner of the claim approves by label.
	ServerMaintenancePolicyOwnerApproval ServerMaintenancePolicy = "OwnerApproval"
	// ServerMaintenancePolicyEnforced needs no approval.
	ServerMaintenancePolicyEnforced ServerMaintenancePolicy = "Enforced"
)

// ServerMaintenanceState is the progress of a maintenance.
type ServerMaintenanceState string

const (
	// ServerMaintenanceStatePending means that the maintenance waits for approval or for its turn.
	ServerMaintenanceStatePending ServerMaintenanceState = "Pending"
	// ServerMaintenanceStateInMaintenance means that the maintenance has the server.
	ServerMaintenanceStateInMaintenance ServerMaintenanceState = "InMaintenance"
	// ServerMaintenanceStateFailed means that the maintenance cannot be granted; the conditions give the reason.
	ServerMaintenanceStateFailed ServerMaintenanceState = "Failed"
)

// ServerBootConfigurationTemplate is the template of a ServerBootConfiguration.
type ServerBootConfigurationTemplate struct {
	// Name of the ServerBootConfiguration, in the namespace of the maintenance.
	Name string `json:"name"`

	// Spec of the ServerBootConfiguration.
	Spec ServerBootConfigurationSpec `json:"spec"`
}

// ServerMaintenanceSpec defines which server a maintenance asks for and how the server runs meanwhile.
type ServerMaintenanceSpec struct {
	// Policy tells whether the maintenance of a claimed server needs approval: OwnerApproval, the default, waits until the claim
	// has the label metal.ironcore.dev/maintenance-approved; Enforced does not wait.
	// +optional
	Policy ServerMaintenancePolicy `json:"policy,omitempty"`

	// ServerRef names the Server.
	ServerRef LocalObjectReference `json:"serverRef"`

	// ServerPower is the power state of the server during the maintenance: On or Off. If it is empty, the power is left alone.
	// +optional
	ServerPower Power `json:"serverPower,omitempty"`

	// LocatorLED is the state of the indicator light during the maintenance: Lit, Blinking or Off. If it is empty, the light is
	// left alone.
	// +optional
	LocatorLED IndicatorLED `json:"locatorLED,omitempty"`

	// Priority orders the maintenances of one server: the highest number goes first. The default is 0.
	// +optional
	// +kubebuilder:default=0
	Priority int32 `json:"priority,omitempty"`

	// ServerBootConfigurationTemplate defines what the server boots during the maintenance. If it is empty, the server is not
	// booted.
	// +optional
	ServerBootConfigurationTemplate *ServerBootConfigurationTemplate `json:"serverBootConfigurationTemplate,omitempty"`
}

// ServerMaintenanceStatus reports the progress of the maintenance. Farrier writes it.
type ServerMaintenanceStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is Pending while the maintenance waits, InMaintenance while it has the server, and Failed when it cannot be granted.
	// +optional
	State ServerMaintenanceState `json:"state,omitempty"`

	// Conditions give the reasons for the state. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServerMaintenance asks for exclusive use of a server, claimed or not, until it is deleted.
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

func init() { register(&ServerMaintenance{}, &ServerMaintenanceList{}) }
