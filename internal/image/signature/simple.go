package signature

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

const (
	// SimpleType is the media type of a layer whose content is the payload of simple signing.
	SimpleType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// SimpleAnnotation is the annotation of that layer with the signature, in base64.
	SimpleAnnotation = "dev.cosignproject.cosign/signature"

	// simpleKind is what a payload says that it is.
	simpleKind = "cosign container image signature"
)

// ErrOtherImage reports a signature by a trusted key for something else than the image.
var ErrOtherImage = errors.New("the signature is for something else")

// simplePayload is the part of the payload of simple signing that decides.
type simplePayload struct {
	Critical struct {
		Type  string `json:"type"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
	} `json:"critical"`
}

// Simple verifies a payload of simple signing with its signature in base64: that a trusted key made it, for the manifest with the digest. The name of
// the image in the payload does not count: the same manifest may be in many repositories.
func (k Keys) Simple(payload []byte, signature, digest string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("annotation %s: %w", SimpleAnnotation, err)
	}
	if err := k.verify(payload, raw); err != nil {
		return err
	}
	var p simplePayload
	if err := json.Unmarshal(payload, &p); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if p.Critical.Type != simpleKind || p.Critical.Image.Digest != digest {
		return fmt.Errorf("%w: %q of %q", ErrOtherImage, p.Critical.Type, p.Critical.Image.Digest)
	}
	return nil
}
