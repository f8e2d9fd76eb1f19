package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// RollbackMethod is how firmware goes back to the version before.
// +kubebuilder:validation:Enum=PreviousImage;OtherBank;Reflash;None
type RollbackMethod string

// Methods of a rollback.
const (
	// RollbackPreviousImage: the BMC keeps the image that was there before in its firmware inventory, and installs it from there.
	RollbackPreviousImage RollbackMethod = "PreviousImage"
	// RollbackOtherBank: the flash has several banks, and the BMC is told to use the one that the update did not write (Redfish ActiveSoftwareImage).
	RollbackOtherBank RollbackMethod = "OtherBank"
	// RollbackReflash: the image that rollback.image names is installed.
	RollbackReflash RollbackMethod = "Reflash"
	// RollbackNone: there is no way back.
	RollbackNone RollbackMethod = "None"
)

// FirmwareImageSpec defines what is known of an image of firmware.
type FirmwareImageSpec struct {
	// Image is where the image is. It is about a BIOSVersion or a BMCVersion with the same spec.image.URI, with or without a digest, and the same version.
	// +kubebuilder:validation:XValidation:rule="size(self.URI) > 0 && size(self.URI) <= 2048",message="must have from 1 to 2048 characters",fieldPath=".URI"
	Image metalv1.ImageSpec `json:"image"`

	// Version is what the BMC reports when the image is installed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`

	// Requires says what has to be installed before this image can be. Without it, the image can be installed over each version.
	// +optional
	Requires *FirmwareRequirement `json:"requires,omitempty"`

	// Rollback says how the firmware goes back to the version before. Without it nothing is known of that.
	// +optional
	Rollback *FirmwareRollback `json:"rollback,omitempty"`
}

// FirmwareRequirement is what has to be installed before an image.
type FirmwareRequirement struct {
	// Version is the oldest over which the image can be installed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version"`

	// Image names the FirmwareImage that firmware older than that gets first. It has version, or a newer one, and may require another image itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Image string `json:"image"`
}

// FirmwareRollback is how firmware goes back to the version before an update.
// +kubebuilder:validation:XValidation:rule="(self.method == 'Reflash') == (has(self.image) && size(self.image) > 0)",message="must name a FirmwareImage with the method Reflash, and nothing with another one",fieldPath=".image"
type FirmwareRollback struct {
	// Method is PreviousImage where the BMC keeps the image that was there before; OtherBank where the flash has two banks and the BMC can be told to use the other one;
	// Reflash where an older image is installed; None where there is no way back.
	Method RollbackMethod `json:"method"`

	// Image names the FirmwareImage that Reflash installs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Image string `json:"image,omitempty"`
}

// FirmwareImage says of an image of firmware what has to be installed before it, and how the firmware goes back to the version before. BIOSVersions and BMCVersions
// name images by their URI; an image without a FirmwareImage can be installed over each version.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=firmwareimages,scope=Cluster,shortName=fwi
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Requires",type=string,JSONPath=`.spec.requires.version`
// +kubebuilder:printcolumn:name="Rollback",type=string,JSONPath=`.spec.rollback.method`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type FirmwareImage struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec FirmwareImageSpec `json:"spec,omitempty"`
}

// FirmwareImageList is a list of FirmwareImages.
// +kubebuilder:object:root=true
type FirmwareImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FirmwareImage `json:"items"`
}

func init() { register(&FirmwareImage{}, &FirmwareImageList{}) }
