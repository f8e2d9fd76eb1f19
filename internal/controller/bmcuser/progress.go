package bmcuser

import (
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// annotationProgress holds what is remembered of an account, as JSON.
const annotationProgress = "farrier.dev/user-progress"

// cause is why an account gets a new password.
type cause string

const (
	causeCreation cause = "Creation"   // it has none yet
	causeRequest  cause = "Request"    // a person asked for it
	causePeriod   cause = "Period"     // spec.rotationPeriod is over
	causeExpiry   cause = "Expiry"     // the BMC soon takes the old one no longer
	causeGiven    cause = "Given"      // spec.bmcSecretRef has another one
	causeSecret   cause = "SecretLost" // the effective secret is gone
	causeAccount  cause = "Account"    // the account is gone, disabled, or has another role
	causeUnsure   cause = "Unsure"     // after a rotation that failed, the account may have a password that is stored nowhere
)

// progress is what is remembered of an object besides its spec.
type progress struct {
	// Made says that there may be an account at the BMC that is this object's; Account is its ID.
	Made    bool   `json:"made,omitempty"`
	Account string `json:"account,omitempty"`
	// Secret is the BMCSecret whose password the account has, since Rotated and, as the BMC says, until Expires.
	Secret  string     `json:"secret,omitempty"`
	Rotated *time.Time `json:"rotated,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	// Next is the BMCSecret of the rotation under way, Cause why and Since when it began.
	Next  string     `json:"next,omitempty"`
	Cause cause      `json:"cause,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// Replaced is the BMCSecret of the rotation under way that somebody has deleted or changed: the account may have its password.
	Replaced string `json:"replaced,omitempty"`
	// Unsure says that the rotation that failed may have given the account a password that is stored nowhere.
	Unsure bool `json:"unsure,omitempty"`
	// Refused is when the BMC refused every password, because the account is locked.
	Refused *time.Time `json:"refused,omitempty"`
	// Old is a BMCSecret that is to be deleted.
	Old string `json:"old,omitempty"`
	// Failed tells of the last rotation, if it failed.
	Failed *failure `json:"failed,omitempty"`
}

// failure is why a rotation failed, when, and what it was about: nothing is tried again for that before pauseAfterFailure is over.
type failure struct {
	Asked   string    `json:"asked"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// progressOf reads the annotation. What cannot be read is as nothing: the account is found again by its name.
func progressOf(obj *metalv1.BMCUser) progress {
	var p progress
	if json.Unmarshal([]byte(obj.Annotations[annotationProgress]), &p) != nil {
		return progress{}
	}
	return p
}

func (p progress) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // no field can fail
	}
	return string(text)
}

// Stage is how far an object has come.
func Stage(obj client.Object) string {
	user, ok := obj.(*metalv1.BMCUser)
	if !ok {
		return ""
	}
	p := progressOf(user)
	return fmt.Sprintf("%s %s %s", p.Secret, p.Next, p.Old)
}
