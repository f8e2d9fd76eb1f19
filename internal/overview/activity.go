package overview

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// Facts are a server and what belongs to it. All but the Server may be nil.
type Facts struct {
	Server *metalv1.Server
	Claim  *metalv1.ServerClaim
	BMC    *metalv1.BMC
	// Boot is the boot configuration that the server boots.
	Boot *metalv1.ServerBootConfiguration
}

// Activity is what a server does.
type Activity struct {
	// Doing says it in a few words; empty: the server rests. If Trouble is set it is the sentence that says what is wrong.
	Doing   string
	Trouble *diagnosis.Answer
	// Since is when that began; zero: no object tells.
	Since time.Time
}

// conditionDeletionWaits is reported under this name by the controllers.
const conditionDeletionWaits = "DeletionWaits"

// Activity tells what the server does now.
func (f Facts) Activity(now time.Time) Activity {
	if wrong := diagnosis.Wrong(f.Diagnosis(now)); wrong != nil {
		return Activity{Doing: wrong.Cause, Trouble: wrong, Since: wrong.Since}
	}
	for _, tell := range []func() (Activity, bool){f.asked, f.power, f.boot, f.waits} {
		if a, told := tell(); told {
			return a
		}
	}
	return Activity{Since: f.rests()}
}

// Diagnosis are the facts as far as objects tell them.
func (f Facts) Diagnosis(now time.Time) *diagnosis.Facts {
	return &diagnosis.Facts{Now: now, Asked: f.Server.Name, Server: f.Server, Claim: f.Claim, BMC: f.BMC, Config: f.Boot, OfProbe: f.Claim == nil && f.Server.Spec.ServerMaintenanceRef == nil}
}

// Said is what a condition says, its reason and its message; empty: there is none with that status.
func Said(conditions []metav1.Condition, kind string, status metav1.ConditionStatus) string {
	c := apimeta.FindStatusCondition(conditions, kind)
	if c == nil || c.Status != status {
		return ""
	}
	return diagnosis.Said(c)
}

// since is when a condition got its status; zero: it does not exist.
func since(conditions []metav1.Condition, kind string) time.Time {
	if c := apimeta.FindStatusCondition(conditions, kind); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// refused is the condition of the claim that says why it cannot boot until somebody changes something; nil: it can.
func (f Facts) refused() *metav1.Condition {
	if f.Claim == nil || f.Claim.Spec.Image == "" { // a claim without an image holds its server, and boots nothing
		return nil
	}
	c := apimeta.FindStatusCondition(f.Claim.Status.Conditions, metalv1.ConditionBootReady)
	if c == nil || c.Status != metav1.ConditionFalse || !hopeless[c.Reason] {
		return nil
	}
	return c
}

// BootRefused says why the claim cannot boot until somebody changes something; empty: it can.
func (f Facts) BootRefused() string {
	if c := f.refused(); c != nil {
		return diagnosis.Said(c)
	}
	return ""
}

// hopeless are the reasons for which a claim cannot boot until somebody changes something.
var hopeless = map[string]bool{"BootConfigurationError": true, "BootConfigurationTaken": true, "InvalidName": true, "InvalidSpec": true}

// asked tells of an operation that somebody has asked for and that is not done yet.
func (f Facts) asked() (Activity, bool) {
	operation, asked := metalv1.OperationOf(f.Server)
	switch {
	case metalv1.IsIgnored(f.Server):
		return Activity{Doing: "ignored on request"}, true
	case asked:
		return Activity{Doing: operation + " on request"}, true
	}
	return Activity{}, false
}

// power tells of a change of power that is under way.
func (f Facts) power() (Activity, bool) {
	conditions := f.Server.Status.Conditions
	for kind, doing := range map[string]string{metalv1.ConditionPoweringOn: "powering on", metalv1.ConditionWaitingForPowerOff: "shutting down"} {
		if apimeta.IsStatusConditionTrue(conditions, kind) {
			return Activity{Doing: doing, Since: since(conditions, kind)}, true
		}
	}
	return Activity{}, false
}

// boot tells how far the machine has come in its boot.
func (f Facts) boot() (Activity, bool) {
	attempt := bootattempt.Of(f.Boot)
	if !attempt.Begun() || f.Server.Status.PowerState != metalv1.PowerStateOn {
		return Activity{}, false
	}
	status := &f.Boot.Status
	if c := apimeta.FindStatusCondition(status.Conditions, metalv1.ConditionBootStateReceived); attempt.Concerns(status.BootStateAttempt, c) {
		return Activity{Doing: "runs", Since: c.LastTransitionTime.Time}, true
	}
	if attempt.Exits() {
		return Activity{Doing: "runs from disk"}, true
	}
	if attempt.Started == nil {
		return Activity{Doing: "powering on", Since: *attempt.Ordered}, true
	}
	a, _ := f.fetched(attempt)
	return a, true
}

// fetched tells by what a machine that was switched on has fetched how far it has come, as the stage of its boot too.
func (f Facts) fetched(attempt *bootattempt.Attempt) (a Activity, at int) {
	a = Activity{Doing: "booting", Since: *attempt.Started}
	status := &f.Boot.Status
	for _, method := range bootmethod.Methods {
		for kind, conditions := range method.Conditions {
			c := apimeta.FindStatusCondition(status.Conditions, conditions[0])
			stage, doing := stageOf(kind)
			if stage > at && attempt.Concerns(status.DeliveryAttempt, c) {
				a, at = Activity{Doing: doing, Since: c.LastTransitionTime.Time}, stage
			}
		}
	}
	return a, at
}

// Booted reports whether the machine has fetched all that its boot configuration gives it, or has told that it runs.
func (f Facts) Booted() bool {
	attempt := bootattempt.Of(f.Boot)
	if !attempt.Begun() || f.Server.Status.PowerState != metalv1.PowerStateOn {
		return false
	}
	told := apimeta.FindStatusCondition(f.Boot.Status.Conditions, metalv1.ConditionBootStateReceived)
	if attempt.Exits() || attempt.Concerns(f.Boot.Status.BootStateAttempt, told) {
		return true
	}
	if attempt.Started == nil {
		return false
	}
	_, at := f.fetched(attempt)
	if f.Boot.Spec.IgnitionSecretRef != nil {
		return at == stageIgnition
	}
	return at >= stageImage
}

// Stages of a boot, by what the machine has fetched.
const (
	stageScript = iota + 1
	stageImage
	stageIgnition
)

// stageOf says what a machine does that has fetched something, and how far in its boot that is; 0: that does not tell.
func stageOf(kind bootview.DeliveryKind) (stage int, doing string) {
	switch {
	case kind == bootview.DeliveredScript:
		return stageScript, "got its script"
	case kind == bootview.DeliveredArtifact, kind.IsFile():
		return stageImage, "got its image"
	case kind == bootview.DeliveredIgnition:
		return stageIgnition, "got its ignition"
	}
	return 0, ""
}

// waits tells what a server waits for whose machine is off.
func (f Facts) waits() (Activity, bool) {
	conditions := f.Server.Status.Conditions
	if why := Said(conditions, conditionDeletionWaits, metav1.ConditionTrue); why != "" {
		return Activity{Doing: why, Since: since(conditions, conditionDeletionWaits)}, true
	}
	switch f.Server.Status.State {
	case metalv1.ServerStateAvailable:
		if f.Server.Spec.Unclaimable {
			return Activity{Doing: "cordoned"}, true
		}
		return Activity{}, false
	case metalv1.ServerStateParked:
		return Activity{}, false
	case metalv1.ServerStateMaintenance:
		if ref := f.Server.Spec.ServerMaintenanceRef; ref != nil {
			return Activity{Doing: "maintenance " + ref.Namespace + "/" + ref.Name}, true
		}
	case metalv1.ServerStateCleanup:
		if c := apimeta.FindStatusCondition(conditions, metalv1.ConditionCleaned); c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
			return Activity{Doing: c.Message}, true
		}
	}
	if f.Claim != nil && f.Claim.Spec.Image == "" {
		return Activity{Doing: "held without an image"}, true
	}
	if f.Claim != nil && f.Claim.Spec.Power == metalv1.PowerOff {
		return Activity{Doing: "off, as its claim says"}, true
	}
	for _, kind := range []string{metalv1.ConditionBootReady, metalv1.ConditionDiscovered} {
		if c := apimeta.FindStatusCondition(conditions, kind); c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
			return Activity{Doing: c.Message, Since: c.LastTransitionTime.Time}, true
		}
	}
	return Activity{}, false
}

// rests is since when a server has been in its state, as far as that is known of one that does nothing.
func (f Facts) rests() time.Time {
	switch f.Server.Status.State {
	case metalv1.ServerStateAvailable:
		return since(f.Server.Status.Conditions, metalv1.ConditionClaimable)
	case metalv1.ServerStateReserved:
		if f.Claim != nil {
			return since(f.Claim.Status.Conditions, metalv1.ConditionBound)
		}
	case metalv1.ServerStateParked:
		return diagnosis.ParkedSince(f.Server)
	case metalv1.ServerStateInitial:
		return f.Server.CreationTimestamp.Time
	}
	return time.Time{}
}
