package server

import (
	"cmp"
	"slices"
	"strings"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// cleaning is what a cleanup is to do.
type cleaning struct {
	mode                    inspection.CleanMode
	bootOrder, biosDefaults bool
	// unknown are words that mean nothing. Whoever wrote one wanted something: until it is
	// known what, nothing is clean enough.
	unknown []string
}

// wantedCleaning is what the installation does, and what the server and its last claim ask for
// beyond that. They may ask for more, never for less.
func (v *View) wantedCleaning() cleaning {
	c := cleaning{mode: cmp.Or(v.Policy.Cleanup, inspection.CleanNone)}
	for _, list := range []string{v.Server.Annotations[metalv1.AnnotationCleanup], v.Server.Annotations[metalv1.AnnotationClaimCleanup]} {
		for word := range strings.SplitSeq(list, ",") {
			c.add(strings.TrimSpace(word))
		}
	}
	return c
}

func (c *cleaning) add(word string) {
	switch word {
	case "":
	case metalv1.CleanupNone, metalv1.CleanupMetadata, metalv1.CleanupFull:
		if mode := inspection.CleanMode(word); !c.mode.Covers(mode) {
			c.mode = mode
		}
	case metalv1.CleanupBootOrder:
		c.bootOrder = true
	case metalv1.CleanupBIOSDefaults:
		c.biosDefaults = true
	default:
		c.unknown = append(c.unknown, word)
	}
}

// clean says whether the disks are as clean as is wanted, and that is on record.
func (v *View) clean(c cleaning) bool {
	return v.Cleaned != nil && v.Cleaned.Outcome == machinerecord.Clean && v.Cleaned.Mode.Covers(c.mode)
}

// cleaningBoot says whether the boot configuration boots a probe that cleans and has not been heard
// of to the end.
func (v *View) cleaningBoot() bool {
	return v.BootInternal && v.Boot != nil && v.Attempt != nil && v.Attempt.Clean != "" && !v.cleanedInAttempt()
}

// cleanedInAttempt says whether there is a record of this boot.
func (v *View) cleanedInAttempt() bool {
	return v.Cleaned != nil && v.Attempt != nil && v.Cleaned.Attempt == v.Attempt.ID
}

// registered says whether the probe of this boot has told who it is; capable, whether it can do
// what this boot is for.
func (v *View) registered() (yes, capable bool) {
	if v.Attempt == nil || v.Inspected != v.Attempt.ID {
		return false, false
	}
	return true, slices.Contains(v.Capabilities, inspection.CleanOrder{Mode: v.Attempt.Clean}.Capability())
}
