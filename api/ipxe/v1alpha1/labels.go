package v1alpha1

// Labels of a Profile that assignments select by. What follows the prefix is the name of a
// label that iPXE reports, or one that only operators know.
const (
	// LabelIntrinsicPrefix starts the keys of labels that iPXE reports, such as assignment/ipxe-buildarch.
	LabelIntrinsicPrefix = "assignment/ipxe-"
	// LabelExtrinsicPrefix starts the keys of labels that only operators know, such as assignment/extrinsic-region.
	LabelExtrinsicPrefix = "assignment/extrinsic-"
)

// AnnotationAllowProfilesFrom on a Secret or ConfigMap lists the namespaces, separated by commas, whose Profiles may refer to it;
// * means all. A label with this key names one namespace.
const AnnotationAllowProfilesFrom = "farrier.dev/allow-profiles-from"

// AnnotationAdmitted on a Profile or an Assignment holds the time of its creation, more precisely than the whole seconds of
// creationTimestamp. Of two objects of one second, the one with the earlier time is the older. Admission writes it and keeps it.
const AnnotationAdmitted = "farrier.dev/admitted"

// AnnotationBootIdentities on a Namespace lists the machines for which its Assignments and its hand-written boot configurations
// may decide, separated by commas or blanks: uuid:…, mac:…, serial:…, asset:…, hostname:…, ip:… (an address or a network),
// label:key=value, or * for all. A MAC, serial or asset may end with *. If one entry cannot be parsed, the whole annotation
// grants nothing.
const AnnotationBootIdentities = "farrier.dev/boot-identities"
