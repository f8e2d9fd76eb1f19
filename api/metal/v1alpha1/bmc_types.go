package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InlineEndpoint is the address of a BMC that has no Endpoint object.
type InlineEndpoint struct {
	// MACAddress of the BMC, in any common notation.
	// +optional
	// +kubebuilder:validation:Pattern=`^$|^([0-9A-Fa-f]{2}[-:. ]?){5}[0-9A-Fa-f]{2}$`
	MACAddress string `json:"macAddress,omitempty"`

	// IP address of the BMC, IPv4 or IPv6.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || isIP(self)",message="must be an IP address"
	IP string `json:"ip,omitempty"`
}

// BMCSpec defines where a BMC is and how Farrier connects to it.
// +kubebuilder:validation:XValidation:rule="has(self.access) != has(self.endpointRef)",message="exactly one of access or endpointRef needs to be set"
type BMCSpec struct {
	// BMCUUID is the Redfish UUID of the BMC. If it is empty, Farrier fills in what the BMC reports. If other hardware answers
	// later, its systems get no Servers until the field is emptied.
	// +optional
	BMCUUID string `json:"bmcUUID,omitempty"`

	// EndpointRef names the Endpoint that holds the address of the BMC. Exactly one of endpointRef and access must be set; either
	// can replace the other, but neither can be changed.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="endpointRef is immutable"
	EndpointRef *LocalObjectReference `json:"endpointRef,omitempty"`

	// Access is the address of the BMC, in place of an Endpoint.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="access is immutable"
	Access *InlineEndpoint `json:"access,omitempty"`

	// BMCSecretRef names the BMCSecret that holds the credentials.
	BMCSecretRef LocalObjectReference `json:"bmcSecretRef"`

	// Protocol defines how Farrier connects to the BMC.
	Protocol Protocol `json:"protocol"`

	// ConsoleProtocol defines how the serial console of the server is reached.
	// +optional
	ConsoleProtocol *ConsoleProtocol `json:"consoleProtocol,omitempty"`

	// Hostname that the BMC should have, for information. Farrier does not identify a BMC by it.
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// BMCSettingsRef has no effect. Farrier accepts it for existing manifests.
	// +optional
	BMCSettingsRef *LocalObjectReference `json:"bmcSettingsRef,omitempty"`
}

// BMCState is the state that the BMC reports for its manager (DSP0268, Resource.State), or Pending or Error. A BMC may report
// other values than those listed here.
type BMCState string

const (
	// BMCStatePending means that the BMC has not been reached yet.
	BMCStatePending BMCState = "Pending"
	// BMCStateEnabled means that the BMC works.
	BMCStateEnabled BMCState = "Enabled"
	// BMCStateStandbyOffline means that the BMC waits for an event to be enabled. It can be used.
	BMCStateStandbyOffline BMCState = "StandbyOffline"
	// BMCStateError means that the BMC cannot be used; the condition Ready gives the reason.
	BMCStateError BMCState = "Error"
)

// BMCStatus is what the BMC last reported. Farrier writes it.
type BMCStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
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

	// State that the BMC reports, such as Enabled; Pending until it has answered for the first time, and Error while it cannot be
	// used.
	// +optional
	// +kubebuilder:default=Pending
	State BMCState `json:"state,omitempty"`

	// PowerState of the BMC itself, not of its servers.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`

	// LastResetTime is the time when Farrier last reset the BMC.
	// +optional
	LastResetTime *metav1.Time `json:"lastResetTime,omitempty"`

	// MetricsReportSubscriptionLink is the path of Farrier's subscription for metric reports at the BMC.
	// +optional
	MetricsReportSubscriptionLink string `json:"metricsReportSubscriptionLink,omitempty"`

	// EventsSubscriptionLink is the path of Farrier's subscription for events at the BMC.
	// +optional
	EventsSubscriptionLink string `json:"eventsSubscriptionLink,omitempty"`

	// Conditions give the reasons for the state.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BMC is a baseboard management controller. Farrier creates one Server for each system that it manages.
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

func init() { register(&BMC{}, &BMCList{}) }
