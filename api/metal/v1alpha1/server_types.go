package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServerState is where a server is in its life.
type ServerState string

const (
	// ServerStateInitial means known and not yet looked at.
	ServerStateInitial ServerState = "Initial"
	// ServerStateDiscovery means being looked at from inside.
	ServerStateDiscovery ServerState = "Discovery"
	// ServerStateAvailable means clean, off and free.
	ServerStateAvailable ServerState = "Available"
	// ServerStateReserved means that the server belongs to a claim.
	ServerStateReserved ServerState = "Reserved"
	// ServerStateReleased means kept as it is for its owner.
	ServerStateReleased ServerState = "Released"
	// ServerStateCleanup means being made clean. Added by Farrier.
	ServerStateCleanup ServerState = "Cleanup"
	// ServerStateMaintenance means being worked on.
	ServerStateMaintenance ServerState = "Maintenance"
	// ServerStateParked means that nothing touches the server.
	ServerStateParked ServerState = "Parked"
	// ServerStateError means that a person is needed; the conditions say why.
	ServerStateError ServerState = "Error"
)

// ReclaimPolicy says what becomes of a server whose claim is gone.
// +kubebuilder:validation:Enum=Recycle;Retain
type ReclaimPolicy string

const (
	// ReclaimPolicyRecycle cleans the server and makes it available.
	ReclaimPolicyRecycle ReclaimPolicy = "Recycle"
	// ReclaimPolicyRetain keeps the server as it is until serverClaimRef is removed by hand.
	ReclaimPolicyRetain ReclaimPolicy = "Retain"
)

// BMCAccess is how the BMC of a server is reached that has no BMC object.
type BMCAccess struct {
	// Protocol says how to speak to the BMC.
	Protocol Protocol `json:"protocol"`

	// Address of the BMC.
	Address string `json:"address"`

	// BMCSecretRef names the BMCSecret that holds the credentials.
	BMCSecretRef LocalObjectReference `json:"bmcSecretRef"`
}

// BootOrder is one entry of the boot order of a server.
type BootOrder struct {
	// Name of the entry.
	Name string `json:"name"`

	// Priority of the entry.
	Priority int `json:"priority"`

	// Device to boot from.
	Device string `json:"device"`
}

// ServerSpec says what a server is and what is wanted of it.
type ServerSpec struct {
	// SystemUUID is the UUID of the system, in lower case; empty if it has none.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^(urn:uuid:)?[{]?([0-9A-Fa-f]-?){32}[}]?$')",message="must be a UUID"
	SystemUUID string `json:"systemUUID"`

	// SystemURI is the path of the system at its BMC.
	// +optional
	SystemURI string `json:"systemURI,omitempty"`

	// Power is accepted, ignored and cleared.
	// +optional
	Power Power `json:"power,omitempty"`

	// IndicatorLED is the wanted state of the light.
	// +optional
	IndicatorLED IndicatorLED `json:"indicatorLED,omitempty"`

	// ServerClaimRef names the claim that the server belongs to. It can be set and removed,
	// never switched.
	// +optional
	ServerClaimRef *ImmutableObjectReference `json:"serverClaimRef,omitempty"`

	// BMCRef names the BMC of the server.
	// +optional
	BMCRef *LocalObjectReference `json:"bmcRef,omitempty"`

	// BMC is the address of the BMC, in place of a BMC object.
	// +optional
	BMC *BMCAccess `json:"bmc,omitempty"`

	// BootConfigurationRef names the ServerBootConfiguration that the server boots.
	// +optional
	BootConfigurationRef *ObjectReference `json:"bootConfigurationRef,omitempty"`

	// BootOrder is the wanted boot order.
	// +optional
	BootOrder []BootOrder `json:"bootOrder,omitempty"`

	// ReclaimPolicy says what becomes of the server when its claim is gone.
	// +optional
	// +kubebuilder:default=Recycle
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// Taints keep claims away that do not tolerate them.
	// +optional
	Taints []Taint `json:"taints,omitempty"`

	// Unclaimable keeps every claim away.
	// +optional
	// +kubebuilder:default=false
	Unclaimable bool `json:"unclaimable,omitempty"`

	// ServerMaintenanceRef names the ServerMaintenance that has the server. Kept from the earlier form.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`

	// MaintenanceBootConfigurationRef names the ServerBootConfiguration of a maintenance. Kept
	// from the earlier form.
	// +optional
	MaintenanceBootConfigurationRef *ObjectReference `json:"maintenanceBootConfigurationRef,omitempty"`

	// BIOSSettingsRef is accepted from manifests of the earlier form and has no effect.
	// +optional
	BIOSSettingsRef *LocalObjectReference `json:"biosSettingsRef,omitempty"`
}

// ServerStatus is what is known of a server. It is a report: all of it can be derived again.
type ServerStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is where the server is in its life.
	// +optional
	State ServerState `json:"state,omitempty"`

	// PowerState is the last power state that its BMC reported.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`

	// IndicatorLED is the last state of the light that its BMC reported.
	// +optional
	IndicatorLED IndicatorLED `json:"indicatorLED,omitempty"`

	// Manufacturer of the server.
	// +optional
	Manufacturer string `json:"manufacturer,omitempty"`

	// Model of the server.
	// +optional
	Model string `json:"model,omitempty"`

	// SKU is the stock keeping unit of the server.
	// +optional
	SKU string `json:"sku,omitempty"`

	// SerialNumber of the server.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// BIOSVersion of the server.
	// +optional
	BIOSVersion string `json:"biosVersion,omitempty"`

	// TotalSystemMemory is the memory of the server.
	// +optional
	TotalSystemMemory *resource.Quantity `json:"totalSystemMemory,omitempty"`

	// Processors of the server.
	// +optional
	Processors []Processor `json:"processors,omitempty"`

	// NetworkInterfaces of the server.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`

	// Storages of the server.
	// +optional
	Storages []Storage `json:"storages,omitempty"`

	// Conditions explain the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Server is one computer system.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=srv
// +kubebuilder:printcolumn:name="SystemUUID",type=string,JSONPath=`.spec.systemUUID`
// +kubebuilder:printcolumn:name="Manufacturer",type=string,JSONPath=`.status.manufacturer`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.status.totalSystemMemory`
// +kubebuilder:printcolumn:name="SKU",type=string,priority=100,JSONPath=`.status.sku`
// +kubebuilder:printcolumn:name="SerialNumber",type=string,priority=100,JSONPath=`.status.serialNumber`
// +kubebuilder:printcolumn:name="PowerState",type=string,JSONPath=`.status.powerState`
// +kubebuilder:printcolumn:name="IndicatorLED",type=string,priority=100,JSONPath=`.status.indicatorLED`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Unclaimable",type=boolean,priority=100,JSONPath=`.spec.unclaimable`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type Server struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ServerSpec `json:"spec,omitempty"`
	// +optional
	Status ServerStatus `json:"status,omitempty"`
}

// ServerList is a list of Servers.
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Server `json:"items"`
}
