package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultRolloutPolicy is the name of the RolloutPolicy of all Sets that choose none.
const DefaultRolloutPolicy = "default"

// RolloutPolicySpec defines how a change goes through a fleet.
type RolloutPolicySpec struct {
	// MaxUnavailable bounds how many Servers are unavailable at once. Those that are unavailable for other reasons count.
	// +optional
	MaxUnavailable MaxUnavailable `json:"maxUnavailable,omitempty"`

	// Waves are the parts of the way, in their order. After the last of them comes the rest. Without waves everything is one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Waves []Wave `json:"waves,omitempty"`

	// Windows are the times at which changes may begin. What has begun ends when it ends. Without windows they may begin at all times.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []MaintenanceWindow `json:"windows,omitempty"`

	// FailureLimit is how many changes may have failed before no further one begins: a number, or a percentage such as 5%. Without it failures stop
	// nothing.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	FailureLimit *intstr.IntOrString `json:"failureLimit,omitempty"`

	// FailureLimits are limits for failures of one reason each, beside failureLimit.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=32
	FailureLimits []FailureLimit `json:"failureLimits,omitempty"`

	// ReturnTimeout is how long a Server may take to be available again after its change, such as 1h. After that the change counts as failed, with the
	// reason ServerDidNotReturn. The gates of its wave then have as long again. The default is 2h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1m')",message="must be a duration of at least 1m, such as 1h30m"
	// +kubebuilder:validation:MaxLength=32
	ReturnTimeout string `json:"returnTimeout,omitempty"`

	// Paused keeps everything from beginning.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// MaxUnavailable are the bounds of how many Servers are unavailable at once: numbers, or percentages such as 10%, rounded down but to 1 at least.
type MaxUnavailable struct {
	// Fleet is the bound for all Servers.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	Fleet *intstr.IntOrString `json:"fleet,omitempty"`

	// Zone is the bound for the Servers of one zone: those with the same value of the label topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	Zone *intstr.IntOrString `json:"zone,omitempty"`

	// Rack is the bound for the Servers of one rack: those of a zone with the same value of farrier.dev/rack, a label or an annotation.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	Rack *intstr.IntOrString `json:"rack,omitempty"`
}

// Wave is a part of the way.
type Wave struct {
	// UpTo is how many targets have begun in total when the wave is full: a number, or a percentage such as 10%, rounded up.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="must be a number from 1, or a percentage from 1% to 100%"
	UpTo intstr.IntOrString `json:"upTo"`

	// Bake is how long the last target of the wave is done before the next wave begins, such as 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$')",message="must be a duration, such as 1h30m"
	// +kubebuilder:validation:MaxLength=32
	Bake string `json:"bake,omitempty"`

	// Gates are what every target of the wave has to pass after its change: until then the change is in progress. One that does not pass within
	// returnTimeout has failed, with the reason Unhealthy or ProbeDidNotReport, and the next wave waits until it passes after all or a person accepts it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Gates []Gate `json:"gates,omitempty"`
}

// Gate is what the Servers of a target have to show after their change. Health: their BMCs report that they are well. ProbeBoot: the Server boots the
// discovery image once, over the boot override, and its probe reports; Servers that are claimed are skipped.
// +kubebuilder:validation:Enum=Health;ProbeBoot
type Gate string

// What Servers have to show.
const (
	GateHealth    Gate = "Health"
	GateProbeBoot Gate = "ProbeBoot"
)

// MaintenanceWindow is a time that comes again and again.
type MaintenanceWindow struct {
	// Start is when it opens: a cron schedule of five fields (minute, hour, day of the month, month, day of the week), such as "0 22 * * 1-5".
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=128
	Start string `json:"start"`

	// Duration is how long it is open, from 1m to 168h.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="must be a duration from 1m to 168h, such as 6h"
	// +kubebuilder:validation:MaxLength=32
	Duration string `json:"duration"`

	// TimeZone is the name of the time zone of start, such as Europe/Berlin. The default is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// FailureLimit bounds failures of one reason.
type FailureLimit struct {
	// Reason is that of the condition Ready of what has failed, such as MachineDidNotStart, or ServerDidNotReturn.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`

	// Limit is how many may have failed for that reason before nothing further begins.
	// +kubebuilder:validation:Minimum=1
	Limit int32 `json:"limit"`
}

// RolloutPolicyStatus reports how the changes stand that go by the policy. Farrier writes it.
type RolloutPolicyStatus struct {
	// ObservedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Rollouts are the changes, one for each Set. A change that is done stays here for as long as its Set chooses the policy.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Rollouts []Rollout `json:"rollouts,omitempty"`

	// Conditions say whether the policy can be followed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Rollout is how one change stands.
type Rollout struct {
	// Kind is that of the Set, or of the object where no Set made it.
	Kind string `json:"kind"`

	// Name is that of the Set or object.
	Name string `json:"name"`

	// ObservedGeneration is the metadata.generation of the Set or object that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Hold is the annotation farrier.dev/rollout that it has.
	// +optional
	Hold string `json:"hold,omitempty"`

	// FailuresAccepted is how many failures a person has looked at.
	// +optional
	FailuresAccepted int32 `json:"failuresAccepted,omitempty"`

	// Wave is the number of the present wave, from 1.
	// +optional
	Wave int32 `json:"wave,omitempty"`

	// Waves is how many there are, the rest included.
	// +optional
	Waves int32 `json:"waves,omitempty"`

	// Targets is how many Servers or BMCs the change is for.
	// +optional
	Targets int32 `json:"targets,omitempty"`

	// Waiting is how many have not begun.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`

	// InProgress is how many have begun and not ended.
	// +optional
	InProgress int32 `json:"inProgress,omitempty"`

	// Completed is how many are done.
	// +optional
	Completed int32 `json:"completed,omitempty"`

	// Failed is how many have failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`

	// Reason says in one word what it does, or what it waits for.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message says more, for people.
	// +optional
	Message string `json:"message,omitempty"`

	// Since is since when the reason is that, in this wave.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// RolloutPolicy says how carefully changes go through a fleet. A Set goes by the policy that its annotation farrier.dev/rollout-policy names, or by
// the one with the name default.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=rolloutpolicies,scope=Cluster,shortName=rop
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Unavailable",type=string,JSONPath=`.spec.maxUnavailable.fleet`
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="spec is required",fieldPath=".spec",reason=FieldValueRequired
type RolloutPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec RolloutPolicySpec `json:"spec,omitempty"`
	// +optional
	Status RolloutPolicyStatus `json:"status,omitempty"`
}

// RolloutPolicyList is a list of RolloutPolicies.
// +kubebuilder:object:root=true
type RolloutPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RolloutPolicy `json:"items"`
}

func init() { register(&RolloutPolicy{}, &RolloutPolicyList{}) }
