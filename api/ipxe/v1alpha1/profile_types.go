package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProfileSpec is a script and the configs it refers to.
// +kubebuilder:validation:XValidation:rule="has(self.ipxe) || has(self.ipxeTemplate)",message="ipxe is required",fieldPath=".ipxe",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!(has(self.ipxe) && has(self.ipxeTemplate))",message="at most one of ipxe or ipxeTemplate can be set"
type ProfileSpec struct {
	// IPXE is the script, a template in which {{ name }} is the URL of an additional config. It is required unless ipxeTemplate is set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	IPXE string `json:"ipxe,omitempty"`

	// IPXETemplate is what later versions of this API call ipxe.
	// +optional
	// +kubebuilder:validation:MinLength=1
	IPXETemplate string `json:"ipxeTemplate,omitempty"`

	// AdditionalConfig holds additional configs, text by name.
	// +optional
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// AdditionalContent holds additional configs that come from elsewhere or are
	// transformed. Added by Farrier.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	AdditionalContent []AdditionalContent `json:"additionalContent,omitempty"`
}

// Transform turns content into what a machine wants.
// +kubebuilder:validation:Enum=butane
type Transform string

// TransformButane translates Butane to Ignition.
const TransformButane Transform = "butane"

// AdditionalContent is one additional config.
// +kubebuilder:validation:XValidation:rule="(has(self.inline) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) + (has(self.configMapRef) ? 1 : 0) + (has(self.webhook) ? 1 : 0) + (has(self.objectRef) ? 1 : 0) == 1",message="exactly one of inline, secretRef, configMapRef, webhook or objectRef needs to be set"
type AdditionalContent struct {
	// Name by which the script refers to the content.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Exposed gives the content a URL of its own.
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

	// Webhook is asked for the content.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`

	// Transform that the content goes through.
	// +optional
	Transform Transform `json:"transform,omitempty"`

	// ObjectRef is how later versions of this API name the key of a Secret or a ConfigMap.
	// +optional
	ObjectRef *ObjectReference `json:"objectRef,omitempty"`

	// PostTransformations is what later versions of this API have in place of transform.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	PostTransformations []PostTransformation `json:"postTransformations,omitempty"`
}

// PostTransformation is one transformation of content, as later versions of this API spell it.
type PostTransformation struct {
	// ButaneToIgnition translates Butane to Ignition.
	// +optional
	ButaneToIgnition bool `json:"butaneToIgnition,omitempty"`

	// Webhook that would transform the content. It is known here so that it is refused with a reason: have a webhook answer
	// what is wanted.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Webhook *runtime.RawExtension `json:"webhook,omitempty"`
}

// Webhook is a server that is asked for content.
// +kubebuilder:validation:XValidation:rule="!(has(self.mTLS) && has(self.mTLSRef))",message="at most one of mTLS or mTLSRef can be set"
// +kubebuilder:validation:XValidation:rule="!(has(self.basicAuth) && has(self.basicAuthRef))",message="at most one of basicAuth or basicAuthRef can be set"
type Webhook struct {
	// URL that is asked, http or https.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\x00-\x20\x7f-\x9f]+$`
	URL string `json:"url"`

	// MTLS says how both sides prove who they are.
	// +optional
	MTLS *WebhookMTLS `json:"mTLS,omitempty"`

	// BasicAuth says how the caller proves who it is.
	// +optional
	BasicAuth *WebhookBasicAuth `json:"basicAuth,omitempty"`

	// MTLSRef is what later versions of this API have in place of mTLS.
	// +optional
	MTLSRef *WebhookMTLSRef `json:"mTLSRef,omitempty"`

	// BasicAuthRef is what later versions of this API have in place of basicAuth.
	// +optional
	BasicAuthRef *WebhookBasicAuthRef `json:"basicAuthRef,omitempty"`
}

// WebhookMTLS is mutual TLS with a webhook.
type WebhookMTLS struct {
	// SecretRef names a Secret with the keys tls.crt, tls.key and ca.crt.
	SecretRef LocalObjectReference `json:"secretRef"`
}

// WebhookBasicAuth is Basic authentication (RFC 7617) with a webhook.
type WebhookBasicAuth struct {
	// SecretRef names a Secret with the keys username and password.
	SecretRef LocalObjectReference `json:"secretRef"`
}

// ProfileStatus says where the configs of a Profile are served.
type ProfileStatus struct {
	// ObservedGeneration is the generation that this status is about. Added by Farrier.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// AdditionalConfig holds the UUID under which each additional config is served, by name.
	// +optional
	AdditionalConfig map[string]string `json:"additionalConfig,omitempty"`

	// Conditions explain the status.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Profile is a script that machines are assigned.
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
