package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProfileSpec defines an iPXE script and the configs that the script refers to.
// +kubebuilder:validation:XValidation:rule="has(self.ipxe) || has(self.ipxeTemplate)",message="ipxe is required",fieldPath=".ipxe",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!(has(self.ipxe) && has(self.ipxeTemplate))",message="at most one of ipxe or ipxeTemplate can be set"
type ProfileSpec struct {
	// IPXE is the iPXE script, a template: {{ name }} inserts the URL of the additional config of that name, and {{
	// .Subject.serial }} a label of the machine. Exactly one of ipxe and ipxeTemplate must be set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	IPXE string `json:"ipxe,omitempty"`

	// IPXETemplate is the name that later versions of this API have for ipxe.
	// +optional
	// +kubebuilder:validation:MinLength=1
	IPXETemplate string `json:"ipxeTemplate,omitempty"`

	// AdditionalConfig holds configs that the script refers to, as text by name. Each is served at a URL of its own.
	// +optional
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// AdditionalContent holds configs that come from another source or that are transformed, by name. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	AdditionalContent []AdditionalContent `json:"additionalContent,omitempty"`
}

// Transform names a translation of content before a machine gets it.
// +kubebuilder:validation:Enum=butane
type Transform string

// TransformButane translates Butane to Ignition.
const TransformButane Transform = "butane"

// AdditionalContent defines one config that the script refers to. Exactly one of inline, secretRef, configMapRef, webhook and
// objectRef must be set.
// +kubebuilder:validation:XValidation:rule="(has(self.inline) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) + (has(self.configMapRef) ? 1 : 0) + (has(self.webhook) ? 1 : 0) + (has(self.objectRef) ? 1 : 0) == 1",message="exactly one of inline, secretRef, configMapRef, webhook or objectRef needs to be set"
type AdditionalContent struct {
	// Name by which the script refers to the content.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Exposed, if true, serves the content at a URL of its own, and the script inserts that URL. If false, the default, the
	// script inserts the content itself.
	// +optional
	Exposed bool `json:"exposed,omitempty"`

	// Inline is the content itself.
	// +optional
	Inline *string `json:"inline,omitempty"`

	// SecretRef names the key of a Secret that holds the content.
	// +optional
	SecretRef *KeyReference `json:"secretRef,omitempty"`

	// ConfigMapRef names the key of a ConfigMap that holds the content.
	// +optional
	ConfigMapRef *KeyReference `json:"configMapRef,omitempty"`

	// Webhook is the server that Farrier requests the content from.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`

	// Transform is applied to the content before a machine gets it. The default is none.
	// +optional
	Transform Transform `json:"transform,omitempty"`

	// ObjectRef is the name that later versions of this API have for secretRef and configMapRef.
	// +optional
	ObjectRef *ObjectReference `json:"objectRef,omitempty"`

	// PostTransformations is the name that later versions of this API have for transform.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PostTransformations []PostTransformation `json:"postTransformations,omitempty"`
}

// PostTransformation is one transformation of content, as later versions of this API spell it.
type PostTransformation struct {
	// ButaneToIgnition, if true, translates Butane to Ignition.
	// +optional
	ButaneToIgnition bool `json:"butaneToIgnition,omitempty"`

	// Webhook is not supported. Farrier knows the field only to refuse it with a reason: let the webhook of the content return
	// the transformed text instead.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Webhook *runtime.RawExtension `json:"webhook,omitempty"`
}

// Webhook defines a server that Farrier requests content from.
// +kubebuilder:validation:XValidation:rule="!(has(self.mTLS) && has(self.mTLSRef))",message="at most one of mTLS or mTLSRef can be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.basicAuth) && has(self.basicAuthRef))",message="at most one of basicAuth or basicAuthRef can be set"
type Webhook struct {
	// URL that Farrier requests, http or https.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\x00-\x20\x7f-\x9f]+$`
	URL string `json:"url"`

	// MTLS authenticates Farrier and the server to each other by TLS certificates. The default is no client certificate. At most
	// one of mTLS and mTLSRef can be set.
	// +optional
	MTLS *WebhookMTLS `json:"mTLS,omitempty"`

	// BasicAuth authenticates Farrier to the server by user name and password. The default is none. At most one of basicAuth and
	// basicAuthRef can be set.
	// +optional
	BasicAuth *WebhookBasicAuth `json:"basicAuth,omitempty"`

	// MTLSRef is the name that later versions of this API have for mTLS.
	// +optional
	MTLSRef *WebhookMTLSRef `json:"mTLSRef,omitempty"`

	// BasicAuthRef is the name that later versions of this API have for basicAuth.
	// +optional
	BasicAuthRef *WebhookBasicAuthRef `json:"basicAuthRef,omitempty"`
}

// WebhookMTLS configures mutual TLS with a webhook.
type WebhookMTLS struct {
	// SecretRef names the Secret with the keys tls.crt, tls.key and ca.crt, in the namespace of the Profile.
	SecretRef LocalObjectReference `json:"secretRef"`
}

// WebhookBasicAuth configures Basic authentication (RFC 7617) with a webhook.
type WebhookBasicAuth struct {
	// SecretRef names the Secret with the keys username and password, in the namespace of the Profile.
	SecretRef LocalObjectReference `json:"secretRef"`
}

// ProfileStatus reports whether a Profile can be served, and where its configs are. Farrier writes it.
type ProfileStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// AdditionalConfig maps the name of each config to its UUID. The boot server serves it at /config/UUID.
	// +optional
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// Conditions report whether the Profile can be served and whether its content is available.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Profile is an iPXE script, with its configs, that Assignments give to machines.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type Profile struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ProfileSpec `json:"spec,omitempty"`
	// +optional
	Status ProfileStatus `json:"status,omitempty"`
}

// ProfileList is a list of Profiles.
// +kubebuilder:object:root=true
type ProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Profile `json:"items"`
}

func init() { register(&Profile{}, &ProfileList{}) }
