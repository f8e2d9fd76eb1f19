package v1alpha1

// LocalObjectReference names an object in the namespace of the referring object.
// +structType=atomic
type LocalObjectReference struct {
	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`
}

// ResourceReference names an object by its resource, as later versions of this API do.
type ResourceReference struct {
	// Group of the resource. It is empty for Secrets and ConfigMaps.
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

	// Namespace of the referenced object. The default is the namespace of the Profile. An object of another namespace must allow
	// it with the annotation farrier.dev/allow-profiles-from.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`
}

// ObjectReference names one key of a Secret or a ConfigMap by a JSONPath.
type ObjectReference struct {
	ResourceReference `json:",inline"`

	// JSONPath of the key, such as .data.key or .data['tls.crt'].
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	JSONPath string `json:"jsonpath"`
}

// WebhookMTLSRef configures mutual TLS with a webhook. JSONPaths name the keys of a Secret.
type WebhookMTLSRef struct {
	ResourceReference `json:",inline"`

	// ClientKeyJSONPath is the JSONPath of the client certificate's private key, PEM.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientKeyJSONPath string `json:"clientKeyJSONPath"`

	// ClientCertJSONPath is the JSONPath of the client certificate, PEM.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientCertJSONPath string `json:"clientCertJSONPath"`

	// CABundleJSONPath is the JSONPath of the PEM bundle of certificate authorities that verify the server. The default is the
	// authorities of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	CABundleJSONPath string `json:"caBundleJSONPath,omitempty"`

	// TLSInsecureSkipVerify must be false. Farrier does not request content from a server that it cannot verify.
	// +optional
	TLSInsecureSkipVerify bool `json:"tlsInsecureSkipVerify,omitempty"`
}

// WebhookBasicAuthRef configures Basic authentication (RFC 7617) with a webhook. JSONPaths name the keys of a Secret.
type WebhookBasicAuthRef struct {
	ResourceReference `json:",inline"`

	// UsernameJSONPath is the JSONPath of the user name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	UsernameJSONPath string `json:"usernameJSONPath"`

	// PasswordJSONPath is the JSONPath of the password.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	PasswordJSONPath string `json:"passwordJSONPath"`
}

// KeyReference names one key of a Secret or a ConfigMap.
type KeyReference struct {
	// Namespace of the referenced object. The default is the namespace of the Profile. An object of another namespace must allow
	// it with the annotation farrier.dev/allow-profiles-from.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`

	// Name of the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	Name string `json:"name"`

	// Key in the referenced object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
