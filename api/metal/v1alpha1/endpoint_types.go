package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EndpointSpec defines the address of a device on the management network.
type EndpointSpec struct {
	// MACAddress of the device, in any common notation. No two Endpoints may have the same one.
	// +optional
	// +kubebuilder:validation:Pattern=`^$|^([0-9A-Fa-f]{2}[-:. ]?){5}[0-9A-Fa-f]{2}$`
	MACAddress string `json:"macAddress,omitempty"`

	// IP address of the device, IPv4 or IPv6.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || isIP(self)",message="must be an IP address"
	IP string `json:"ip,omitempty"`
}

// EndpointStatus reports why no BMC was created for the Endpoint. Farrier writes it, unless the Endpoint becomes a BMC at once.
type EndpointStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report why the Endpoint is no BMC, and later that it has become one. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Endpoint is a MAC and an IP address on the management network. If the MAC prefix database knows the manufacturer, Farrier
// creates a BMC and a BMCSecret of the same name.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mep
// +kubebuilder:printcolumn:name="MACAddress",type=string,JSONPath=`.spec.macAddress`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.spec.ip`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Endpoint struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec EndpointSpec `json:"spec,omitempty"`
	// +optional
	Status EndpointStatus `json:"status,omitempty"`
}

// EndpointList is a list of Endpoints.
// +kubebuilder:object:root=true
type EndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Endpoint `json:"items"`
}

func init() { register(&Endpoint{}, &EndpointList{}) }
