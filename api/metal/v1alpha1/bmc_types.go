package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InlineEndpoint is the address of a BMC that has no Endpoint object.
type InlineEndpoint struct {
	// MACAddress of the BMC, in any common spelling.
	// +optional
	// +kubebuilder:validation:Pattern=`^$|^([0-9A-Fa-f]{2}[-:. ]?){5}[0-9A-Fa-f]{2}$`
	MACAddress string `json:"macAddress,omitempty"`

	// IP address of the BMC, IPv4 or IPv6.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || isIP(self)",message="must be an IP address"
	IP string `json:"ip,omitempty"`
}

// BMCSpec says where a BMC is and how to speak to it.
// +kubebuilder:validation:XValidation:rule="has(self.access) != has(self.endpointRef)",message="exactly one of access or endpointRef needs to be set"
type BMCSpec struct {
	// BMCUUID is the UUID of the BMC.
	// +optional
	BMCUUID string `json:"bmcUUID,omitempty"`

	// EndpointRef names the Endpoint whose address is the BMC's. It can be replaced by
	// access, and access by it, and is fixed otherwise.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="endpointRef is immutable"
	EndpointRef *LocalObjectReference `json:"endpointRef,omitempty"`

	// Access is the address of the BMC, in place of an Endpoint.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="access is immutable"
	Access *InlineEndpoint `json:"access,omitempty"`

	// BMCSecretRef names the BMCSecret that holds the credentials.
	BMCSecretRef LocalObjectReference `json:"bmcSecretRef"`

	// Protocol says how to speak to the BMC.
	Protocol Protocol `json:"protocol"`

	// ConsoleProtocol says where the serial console is.
	// +optional
	ConsoleProtocol *ConsoleProtocol `json:"consoleProtocol,omitempty"`

	// Hostname that the BMC should have. It is no claim about which BMC it is.
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// BMCSettingsRef is accepted from manifests of the earlier form and has no effect.
	// +optional
	BMCSettingsRef *LocalObjectReference `json:"bmcSettingsRef,omitempty"`
}

// BMCState is what the manager says of itself (DSP0268, Resource.State), or one of
// Pending and Error. It is open: any state that a manager reports can stand here.
type BMCState string

const (
	// BMCStatePending means that the BMC was not reached yet.
	BMCStatePending BMCState = "Pending"
	// BMCStateEnabled means working.
	BMCStateEnabled BMCState = "Enabled"
	// BMCStateStandbyOffline means waiting for an event to be enabled; usable.
	BMCStateStandbyOffline BMCState = "StandbyOffline"
	// BMCStateError means that the BMC cannot be used; the condition Ready says why.
	BMCStateError BMCState = "Error"
)

// BMCStatus is what a BMC said last.
type BMCStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// MACAddress of the BMC.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$`
	MACAddress string `json:"macAddress,omitempty"`

	// IP address of the BMC.
	// +optional
	IP string `json:"ip,omitempty"`

	// Manufacturer of the BMC.
	// +optional
	Manufacturer string `json:"manufacturer,omitempty"`

	// Model of the BMC.
	// +optional
	Model string `json:"model,omitempty"`

	// SKU is the stock keeping unit of the BMC.
	// +optional
	SKU string `json:"sku,omitempty"`

	// SerialNumber of the BMC.
	// +optional
	SerialNumber string `json:"serialNumber,omitempty"`

	// FirmwareVersion that the BMC runs.
	// +optional
	FirmwareVersion string `json:"firmwareVersion,omitempty"`

	// State of the BMC.
	// +optional
	// +kubebuilder:default=Pending
	State BMCState `json:"state,omitempty"`

	// PowerState of the BMC.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`

	// LastResetTime is when the BMC was last reset.
	// +optional
	LastResetTime *metav1.Time `json:"lastResetTime,omitempty"`

	// MetricsReportSubscriptionLink is the subscription for metric reports at the BMC.
	// +optional
	MetricsReportSubscriptionLink string `json:"metricsReportSubscriptionLink,omitempty"`

	// EventsSubscriptionLink is the subscription for events at the BMC.
	// +optional
	EventsSubscriptionLink string `json:"eventsSubscriptionLink,omitempty"`

	// Conditions explain the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMC is a management controller. For each of its systems there is a Server.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bmcs,scope=Cluster
// +kubebuilder:printcolumn:name="MACAddress",type=string,JSONPath=`.status.macAddress`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.status.ip`
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.status.model`
// +kubebuilder:printcolumn:name="SKU",type=string,priority=100,JSONPath=`.status.sku`
// +kubebuilder:printcolumn:name="SerialNumber",type=string,priority=100,JSONPath=`.status.serialNumber`
// +kubebuilder:printcolumn:name="FirmwareVersion",type=string,priority=100,JSONPath=`.status.firmwareVersion`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="PowerState",type=string,JSONPath=`.status.powerState`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type BMC struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec BMCSpec `json:"spec,omitempty"`
	// +optional
	Status BMCStatus `json:"status,omitempty"`
}

// BMCList is a list of BMCs.
// +kubebuilder:object:root=true
type BMCList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BMC `json:"items"`
}
