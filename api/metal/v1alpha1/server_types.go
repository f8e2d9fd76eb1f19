package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServerState is the step of its lifecycle that a server is in.
type ServerState string

const (
	// ServerStateInitial means that the server is known and not inspected yet.
	ServerStateInitial ServerState = "Initial"
	// ServerStateDiscovery means that in-band inspection is running: the server boots the probe, which reports the hardware.
	ServerStateDiscovery ServerState = "Discovery"
	// ServerStateAvailable means that the server is clean, off and free.
	ServerStateAvailable ServerState = "Available"
	// ServerStateReserved means that the server belongs to a claim.
	ServerStateReserved ServerState = "Reserved"
	// ServerStateReleased means that the claim is gone and the server is kept as it is: its reclaim policy is Retain.
	ServerStateReleased ServerState = "Released"
	// ServerStateCleanup means that the server is being cleaned. Added by Farrier.
	ServerStateCleanup ServerState = "Cleanup"
	// ServerStateMaintenance means that the server belongs to a ServerMaintenance.
	ServerStateMaintenance ServerState = "Maintenance"
	// ServerStateParked means that Farrier leaves the server alone.
	ServerStateParked ServerState = "Parked"
	// ServerStateError means that a person is needed; the conditions give the reason.
	ServerStateError ServerState = "Error"
)

// ReclaimPolicy decides what happens to a server after its claim ends.
// +kubebuilder:validation:Enum=Recycle;Retain
type ReclaimPolicy string

const (
	// ReclaimPolicyRecycle cleans the server and makes it available again.
	ReclaimPolicyRecycle ReclaimPolicy = "Recycle"
	// ReclaimPolicyRetain keeps the server as it is until a person removes serverClaimRef.
	ReclaimPolicyRetain ReclaimPolicy = "Retain"
)

// BMCAccess defines how to reach the BMC of a server that has no BMC object.
type BMCAccess struct {
	// Protocol defines how Farrier connects to the BMC.
	Protocol Protocol `json:"protocol"`

	// Address of the BMC: an IP address or a host name.
	Address string `json:"address"`

	// BMCSecretRef names the BMCSecret that holds the credentials.
	BMCSecretRef LocalObjectReference `json:"bmcSecretRef"`
}

// BootOrder is one entry of the boot order that a server should have.
type BootOrder struct {
	// Name of the entry, for information.
	Name string `json:"name"`

	// Priority of the entry: the lowest number boots first.
	Priority int `json:"priority"`

	// Device to boot from: the BMC's reference of a boot option, such as Boot0003.
	Device string `json:"device"`
}

// ServerSpec defines which system a server is and how it is used.
type ServerSpec struct {
	// SystemUUID is the SMBIOS UUID of the system. It is empty if the system has none. Farrier sets it, in lower case, on the
	// Servers that it creates.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^(urn:uuid:)?[{]?([0-9A-Fa-f]-?){32}[}]?$')",message="must be a UUID"
	SystemUUID string `json:"systemUUID"`

	// SystemURI is the Redfish path of the system at its BMC. Farrier sets it.
	// +optional
	SystemURI string `json:"systemURI,omitempty"`

	// Power has no effect: Farrier clears it. The claim or the maintenance of a server decides its power state.
	// +optional
	Power Power `json:"power,omitempty"`

	// IndicatorLED is the state that the indicator light should have: Lit, Blinking or Off. If it is empty, the light is left
	// alone.
	// +optional
	IndicatorLED IndicatorLED `json:"indicatorLED,omitempty"`

	// ServerClaimRef names the ServerClaim that the server belongs to. Farrier sets it when a claim is bound. It can be set and
	// removed, but not changed to name another claim.
	// +optional
	ServerClaimRef *ImmutableObjectReference `json:"serverClaimRef,omitempty"`

	// BMCRef names the BMC of the server. Farrier sets it on the Servers that it creates.
	// +optional
	BMCRef *LocalObjectReference `json:"bmcRef,omitempty"`

	// BMC is the address of the server's BMC, in place of a BMC object.
	// +optional
	BMC *BMCAccess `json:"bmc,omitempty"`

	// BootConfigurationRef names the ServerBootConfiguration that the server boots. Farrier sets it.
	// +optional
	BootConfigurationRef *ObjectReference `json:"bootConfigurationRef,omitempty"`

	// BootOrder is the persistent boot order that the server should have. Devices that are not listed follow in their present
	// order. If it is empty, the boot order is left alone.
	// +optional
	BootOrder []BootOrder `json:"bootOrder,omitempty"`

	// ReclaimPolicy decides what happens to the server after its claim ends: Recycle, the default, cleans it and makes it
	// available; Retain keeps it as it is until a person removes serverClaimRef.
	// +optional
	// +kubebuilder:default=Recycle
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`

	// Taints keep away the claims that do not tolerate them.
	// +optional
	Taints []Taint `json:"taints,omitempty"`

	// Unclaimable, if true, keeps every claim away. The default is false.
	// +optional
	// +kubebuilder:default=false
	Unclaimable bool `json:"unclaimable,omitempty"`

	// ServerMaintenanceRef names the ServerMaintenance that has the server. Farrier sets it, or an operator with a
	// ServerMaintenance of its own; then Farrier leaves the server alone.
	// +optional
	ServerMaintenanceRef *ObjectReference `json:"serverMaintenanceRef,omitempty"`

	// MaintenanceBootConfigurationRef names the ServerBootConfiguration that the server boots during its maintenance. Farrier
	// sets it.
	// +optional
	MaintenanceBootConfigurationRef *ObjectReference `json:"maintenanceBootConfigurationRef,omitempty"`

	// BIOSSettingsRef has no effect. Farrier accepts it for existing manifests.
	// +optional
	BIOSSettingsRef *LocalObjectReference `json:"biosSettingsRef,omitempty"`
}

// ServerStatus reports what Farrier knows about the server. Farrier writes it, and can derive all of it again.
type ServerStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State is the step of its lifecycle that the server is in: Initial, Discovery, Available, Reserved, Released, Cleanup,
	// Maintenance, Parked or Error.
	// +optional
	State ServerState `json:"state,omitempty"`

	// PowerState is the power state that the BMC last reported.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`

	// IndicatorLED is the state of the indicator light that the BMC last reported.
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

	// TotalSystemMemory is the size of the server's memory, in bytes.
	// +optional
	TotalSystemMemory *resource.Quantity `json:"totalSystemMemory,omitempty"`

	// Processors of the server, as the BMC reports them.
	// +optional
	Processors []Processor `json:"processors,omitempty"`

	// NetworkInterfaces of the server, as the BMC and the probe report them.
	// +optional
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`

	// InspectionAttempt is the ID of the boot attempt whose in-band inspection the status shows. Added by Farrier.
	// +optional
	InspectionAttempt string `json:"inspectionAttempt,omitempty"`

	// Storages are the storage controllers of the server, with their drives and volumes.
	// +optional
	Storages []Storage `json:"storages,omitempty"`

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Server is one computer system that a BMC manages.
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

func init() { register(&Server{}, &ServerList{}) }
