package machinerecord

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/inspection"
)

const (
	// AnnotationMode is how thoroughly a cleanup was done.
	AnnotationMode = "farrier.dev/cleanup-mode"
	// AnnotationOutcome is Clean or NotClean.
	AnnotationOutcome = "farrier.dev/cleanup-outcome"
	// AnnotationSummary says what was done in a few words.
	AnnotationSummary = "farrier.dev/cleanup-summary"
	// AnnotationCapabilities lists what the agent of an inspection can do.
	AnnotationCapabilities = "farrier.dev/capabilities"
)

// Outcome is what a cleanup came to.
type Outcome string

// A server is clean only if every disk that counts is.
const (
	Clean    Outcome = "Clean"
	NotClean Outcome = "NotClean"
)

// Cleanup is what a record of KindCleanup says.
type Cleanup struct {
	Server string `json:"server"`
	// Claim is the UID of the claim that had the server.
	Claim   string                   `json:"claim"`
	Attempt string                   `json:"attempt,omitempty"`
	Mode    inspection.CleanMode     `json:"mode"`
	Started time.Time                `json:"started"`
	Ended   time.Time                `json:"ended"`
	Outcome Outcome                  `json:"outcome"`
	Summary string                   `json:"summary"`
	Disks   []inspection.DiskCleanup `json:"disks"`
	// Matched says what the disks were matched against.
	Matched string `json:"matched,omitempty"`
}

// Object is the object of record.
func (c Cleanup) Object(namespace string) (*corev1.ConfigMap, error) {
	content, err := Pack(c)
	if err != nil {
		return nil, err
	}
	obj := New(namespace, CleanupName(c.Server, c.Claim), KindCleanup, c.Server, c.Attempt, content)
	maps.Copy(obj.Annotations, map[string]string{
		AnnotationMode: string(c.Mode), AnnotationOutcome: string(c.Outcome), AnnotationSummary: c.Summary,
	})
	return obj, nil
}

// PutCleanup writes a record. The first one of an attempt is true: what came after it is a repetition, or
// an afterthought.
func PutCleanup(ctx context.Context, c client.Client, live client.Reader, namespace string, made Cleanup) error {
	obj, err := made.Object(namespace)
	if err != nil {
		return err
	}
	if err = c.Create(ctx, obj, client.FieldOwner(metalv1.FieldManager)); !apierrors.IsAlreadyExists(err) {
		return err
	}
	var old corev1.ConfigMap
	if err := live.Get(ctx, client.ObjectKeyFromObject(obj), &old); err != nil {
		return err
	}
	if old.Annotations[AnnotationAttempt] == made.Attempt {
		return nil
	}
	obj.ResourceVersion = old.ResourceVersion
	return c.Update(ctx, obj, client.FieldOwner(metalv1.FieldManager))
}

// CleanupMeta is what a cleanup's record says of itself without being unpacked.
type CleanupMeta struct {
	Attempt string
	Mode    inspection.CleanMode
	Outcome Outcome
	Summary string
}

// CleanupMetaOf reads it.
func CleanupMetaOf(obj metav1.Object) CleanupMeta {
	a := obj.GetAnnotations()
	return CleanupMeta{a[AnnotationAttempt], inspection.CleanMode(a[AnnotationMode]), Outcome(a[AnnotationOutcome]), a[AnnotationSummary]}
}

// Judge says what the results of an agent come to. known are the disks that are known of the machine, and those that the same agent sees: one
// that it says nothing about is not clean, and neither is one that it leaves alone. expected says that the machine is known to have disks, so
// that none at all is not believed.
func Judge(mode inspection.CleanMode, disks []inspection.DiskCleanup, known []inspection.BlockDevice, expected bool) (Outcome, string) {
	methods, wiped, exempt := map[string]int{}, 0, 0
	var bad []string
	for i := range disks {
		d := &disks[i]
		switch {
		case d.Result == inspection.CleanedExempt:
			exempt++
		case d.Result == inspection.CleanedOK && mode == inspection.CleanFull && d.Method == string(inspection.CleanMetadata):
			bad = append(bad, named(d)+": only its metadata was wiped")
		case d.Result == inspection.CleanedOK:
			wiped++
			methods[short(cmp.Or(d.Method, "unnamed method"))]++
		case d.Result == inspection.CleanedFailed:
			bad = append(bad, named(d)+": "+short(cmp.Or(d.Error, "failed")))
		default:
			bad = append(bad, fmt.Sprintf("%s: unknown result %q", named(d), short(d.Result)))
		}
	}
	for i := range known {
		said := about(&known[i], disks)
		name := short(cmp.Or(known[i].Path, known[i].Name))
		switch {
		case !counts(&known[i]) || slices.ContainsFunc(known[:i], func(d inspection.BlockDevice) bool { return same(&d, &known[i]) }):
		case said == nil:
			bad = append(bad, name+": not in the report")
		case said.Result == inspection.CleanedExempt:
			bad = append(bad, name+": not wiped")
		}
	}
	if wiped == 0 && len(bad) == 0 && expected {
		bad = append(bad, "the machine has disks, and none was wiped")
	}
	if len(bad) > 0 {
		return NotClean, atMost(fmt.Sprintf("%s not clean: %s", disksOf(len(bad)), strings.Join(bad, "; ")), maxSummary)
	}
	return Clean, summary(wiped, methods, exempt)
}

// maxSummary fits into an annotation and into the message of a condition.
const maxSummary = 2048

func summary(wiped int, methods map[string]int, exempt int) string {
	text := disksOf(wiped) + " wiped"
	names := slices.SortedFunc(maps.Keys(methods), func(a, b string) int {
		return cmp.Or(methods[b]-methods[a], strings.Compare(a, b))
	})
	for i, name := range names {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += fmt.Sprintf("%s%d %s", separator, methods[name], name)
	}
	if exempt > 0 {
		text += fmt.Sprintf("; %d exempt", exempt)
	}
	return atMost(text, maxSummary)
}

func disksOf(n int) string {
	if n == 1 {
		return "1 disk"
	}
	return fmt.Sprintf("%d disks", n)
}

// about is what was said of a disk; nil: nothing.
func about(disk *inspection.BlockDevice, among []inspection.DiskCleanup) *inspection.DiskCleanup {
	equal := func(a, b string) bool { return a != "" && a == b }
	for i := range among {
		d := &among[i]
		if equal(canonicalSerial(d.Serial), canonicalSerial(disk.Serial)) || equal(d.WWID, disk.WWID) {
			return d
		}
	}
	// A name counts only where it cannot be another disk's by now.
	for i := range among {
		d := &among[i]
		if (disk.Serial == "" || d.Serial == "") && (equal(d.Path, disk.Path) || equal(d.Path, "/dev/"+disk.Name)) {
			return d
		}
	}
	return nil
}

func named(d *inspection.DiskCleanup) string {
	name := cmp.Or(d.Path, "a disk")
	if id := cmp.Or(d.Serial, d.WWID); id != "" {
		name += " (" + id + ")"
	}
	return short(name)
}

// short keeps what an agent says to what a line of a condition can hold: printable, and not long.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, text)
	return atMost(text, 200)
}

func atMost(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
