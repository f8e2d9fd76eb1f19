package bootattempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// Attempt is one boot of a machine, from the moment it is decided. It is kept
// in an annotation of the boot configuration, and each step is written before
// the command that it orders, so that whoever comes next knows what may have
// happened to the machine.
type Attempt struct {
	// ID is unpredictable; boot tokens are derived from it.
	ID string `json:"id"`
	// Number counts the boots of this boot configuration from 1.
	Number int `json:"number"`
	// Ordered is when the boot was decided. Until then the attempt only lends its
	// ID to what has to be prepared.
	Ordered *time.Time `json:"ordered,omitempty"`
	// Off is when a machine that must boot from cold was seen off.
	Off *time.Time `json:"off,omitempty"`
	// Started is when the machine was seen on. It is not switched on again in
	// this attempt, whatever happens.
	Started *time.Time `json:"started,omitempty"`
	// First is when the machine was seen on in the first boot, where that came to nothing and this one is in its place.
	First *time.Time `json:"first,omitempty"`
	// Clean is how thoroughly the probe that is booted here cleans; empty: not at all.
	Clean inspection.CleanMode `json:"clean,omitempty"`
	// Defaults is when the BMC accepted the command to restore the defaults of the BIOS with this boot.
	Defaults *time.Time `json:"defaults,omitempty"`

	// The rest is for a claim whose boot policy is Once.

	// Installed is when the machine had told that it booted: nothing of this attempt is served any more.
	Installed *time.Time `json:"installed,omitempty"`
	// Disk says that the machine boots its disk.
	Disk bool `json:"disk,omitempty"`
	// Cold says that it has to be seen off first: what runs on it is to be installed anew.
	Cold bool `json:"cold,omitempty"`
	// Reinstall is the value of the annotation that asked last for that, Generation that of the boot
	// configuration, and Ignition the fingerprint of its ignition, when it was installed last.
	Reinstall  string `json:"reinstall,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Ignition   string `json:"ignition,omitempty"`
}

// Of reads the attempt of a boot configuration. None, or one that cannot
// be read, is a nil Attempt: the next boot begins a new one.
func Of(config *metalv1.ServerBootConfiguration) *Attempt {
	if config == nil {
		return nil
	}
	text, ok := config.Annotations[metalv1.AnnotationBootAttempt]
	if !ok {
		return nil
	}
	var a Attempt
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.ID == "" {
		return nil
	}
	return &a
}

// Begun reports whether the boot was decided.
func (a *Attempt) Begun() bool { return a != nil && a.Ordered != nil }

// Exits says that the machine is installed: whatever it asks for, it is sent to its disk.
func (a *Attempt) Exits() bool { return a != nil && (a.Disk || a.Installed != nil) }

// Open reports whether a machine may use this attempt's token: from the order on, until it is installed.
func (a *Attempt) Open() bool { return a.Begun() && !a.Exits() }

// Concerns reports whether a true condition refers to this attempt. named is the attempt that the object names beside its conditions.
// Objects of versions that had no such field name none: then the condition refers to this attempt if it turned true after the order.
func (a *Attempt) Concerns(named string, c *metav1.Condition) bool {
	switch {
	case a == nil || c == nil || c.Status != metav1.ConditionTrue:
		return false
	case named != "" || !a.Begun():
		return named == a.ID
	}
	return !c.LastTransitionTime.Time.Before(a.Ordered.Truncate(time.Second)) // metav1.Time has whole seconds
}

// Since is when the machine was seen on first for what this attempt is to bring about; zero: it was not.
func (a *Attempt) Since() time.Time {
	if first := cmp.Or(a.First, a.Started); first != nil {
		return *first
	}
	return time.Time{}
}

// Again is an attempt, not ordered yet, in the place of a, which came to nothing.
func (a *Attempt) Again(id string) *Attempt {
	return &Attempt{ID: id, Number: a.Number + 1, First: cmp.Or(a.First, a.Started)}
}

// String is the annotation's value.
func (a *Attempt) String() string {
	text, err := json.Marshal(a)
	if err != nil { // times outside year 0…9999 alone can fail
		return fmt.Sprintf(`{"id":%q,"number":%d}`, a.ID, a.Number)
	}
	return string(text)
}

// Next begins the attempt that follows a.
func (a *Attempt) Next(id string, now time.Time) *Attempt {
	n := &Attempt{ID: id, Number: 1, Ordered: &now}
	if a == nil {
		return n
	}
	if a.Ordered == nil { // prepared, and now ordered under the same ID
		n.ID, n.Number, n.Clean, n.First = a.ID, a.Number, a.Clean, a.First
		return n
	}
	n.Number = a.Number + 1
	return n
}

// SeenInstalled is the attempt with the moment at which the machine had told that it booted.
func (a *Attempt) SeenInstalled(now time.Time) *Attempt {
	n := *a
	n.Installed = &now
	return &n
}

// SeenOff is the attempt with the moment at which the machine was seen off.
func (a *Attempt) SeenOff(now time.Time) *Attempt {
	n := *a
	n.Off = &now
	return &n
}

// SeenDefaults is the attempt with the moment at which the defaults of the BIOS were ordered.
func (a *Attempt) SeenDefaults(now time.Time) *Attempt {
	n := *a
	n.Defaults = &now
	return &n
}

// SeenOn is the attempt with the moment at which the machine was seen on.
func (a *Attempt) SeenOn(now time.Time) *Attempt {
	n := *a
	n.Started = &now
	return &n
}
