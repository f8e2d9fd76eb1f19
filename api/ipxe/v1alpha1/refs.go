package v1alpha1

// LocalObjectReference names an object in the namespace of the referring object.
// +structType=atomic
type LocalObjectReference struct {
	// Name of the referent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`
}

// ResourceReference names an object by its resource, as later versions of this API do.
type ResourceReference struct {
	// Group of the resource; that of Secrets and ConfigMaps is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Version of the resource.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`

	// Resource is secrets or configmaps.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource"`

	// Namespace of the referent; empty means that of the Profile. Another one needs a grant there.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the referent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`
}

// ObjectReference names one key of a Secret or a ConfigMap by a path into it.
type ObjectReference struct {
	ResourceReference `json:",inline"`

	// JSONPath to the key, such as .data.key or .data['tls.crt'].
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	JSONPath string `json:"jsonpath"`
}

// WebhookMTLSRef is mutual TLS with a webhook, from keys of a Secret that paths into it name.
type WebhookMTLSRef struct {
	ResourceReference `json:",inline"`

	// ClientKeyJSONPath is the path to the key of the client's certificate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientKeyJSONPath string `json:"clientKeyJSONPath"`

	// ClientCertJSONPath is the path to the client's certificate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientCertJSONPath string `json:"clientCertJSONPath"`

	// CABundleJSONPath is the path to the authorities that the server's certificate is verified with; empty: those of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	CABundleJSONPath string `json:"caBundleJSONPath,omitempty"`

	// TLSInsecureSkipVerify can only be false: a server that nobody verifies is not asked.
	// +optional
	TLSInsecureSkipVerify bool `json:"tlsInsecureSkipVerify,omitempty"`
}

// WebhookBasicAuthRef is Basic authentication (RFC 7617) with a webhook, from keys of a Secret that paths into it name.
type WebhookBasicAuthRef struct {
	ResourceReference `json:",inline"`

	// UsernameJSONPath is the path to the user name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	UsernameJSONPath string `json:"usernameJSONPath"`

	// PasswordJSONPath is the path to the password.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	PasswordJSONPath string `json:"passwordJSONPath"`
}

// KeyReference names one key of a Secret or a ConfigMap.
type KeyReference struct {
	// Namespace of the referent; empty means that of the Profile. Another one needs a grant there.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the referent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`

	// Key in the referent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
