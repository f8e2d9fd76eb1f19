package v1alpha1

// Labels of a Profile that assignments select by. What follows the prefix is the name of a
// label that iPXE reports, or one that only operators know.
const (
	// LabelIntrinsicPrefix starts labels that iPXE reports, such as assignment/ipxe-buildarch.
	LabelIntrinsicPrefix = "assignment/ipxe-"
	// LabelExtrinsicPrefix starts labels that operators know, such as assignment/extrinsic-region.
	LabelExtrinsicPrefix = "assignment/extrinsic-"
)

// AnnotationAllowProfilesFrom on a Secret or ConfigMap lists the namespaces, separated by
// commas, whose Profiles may refer to it; * means all. As a label it names one.
const AnnotationAllowProfilesFrom = "farrier.dev/allow-profiles-from"

// AnnotationAdmitted on a Profile or an Assignment says when it came, more exactly than its creationTimestamp, which is in whole seconds:
// of two of one second the earlier one is the older. Admission writes it and keeps it as it is.
const AnnotationAdmitted = "farrier.dev/admitted"

// AnnotationBootIdentities on a Namespace lists the machines that its Assignments and its hand-written boot configurations may be
// for, separated by commas or blanks: uuid:…, mac:…, serial:…, asset:…, hostname:…, ip:… (an address or a network),
// label:key=value, or * for all. A MAC, serial or asset may end with *. One entry that cannot be read makes it grant nothing.
const AnnotationBootIdentities = "farrier.dev/boot-identities"
