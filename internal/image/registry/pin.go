package registry

import (
	"errors"
	"fmt"
)

// Pin is an image that machines are going to boot.
type Pin struct {
	Plan Plan
	// PullSecret is the content of a dockerconfigjson Secret, or empty. It opens the layers of the plan and nothing else.
	PullSecret []byte
	// Site is where the machines stand; empty: the default one. Version is the resource version of the newest object that says so; 0: none
	// does. Neither decides anything here.
	Site    string
	Version uint64
}

// DefaultUKIOwner pins the image that unknown machines boot over UEFI HTTP.
const DefaultUKIOwner = "--default-httpboot-oci-image"

// Check refuses a plan that no image could have led to.
func (p Plan) Check() error {
	ref := Reference{Registry: p.Registry, Repository: p.Repository, Tag: p.Tag, Digest: p.Digest}
	if p.Digest == "" {
		return errors.New("plan: it has no digest")
	}
	if parsed, err := ParseReference(ref.String()); err != nil {
		return fmt.Errorf("plan: %w", err)
	} else if parsed != ref {
		return errors.New("plan: it names no image")
	}
	if len(p.Layers()) == 0 {
		return errors.New("plan: it has no layers")
	}
	for _, layer := range p.Layers() {
		if !ValidDigest(layer.Digest) || layer.Size < 0 {
			return errors.New("plan: a layer has no digest, or no size")
		}
	}
	return nil
}
