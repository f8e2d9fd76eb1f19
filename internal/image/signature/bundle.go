package signature

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// BundleType begins the media types of Sigstore bundles; their version follows.
	BundleType = "application/vnd.dev.sigstore.bundle"

	// statementType is the media type of in-toto statements in an envelope.
	statementType = "application/vnd.in-toto+json"
	// signPredicate is the kind of statement that signs an image. Statements of other kinds, such as bills of materials, do not.
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
)

// bundle is the part of a Sigstore bundle that decides. Byte strings are base64 in JSON.
type bundle struct {
	Envelope struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
		Signatures  []struct {
			Sig []byte `json:"sig"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
}

// statement is the part of an in-toto statement that decides.
type statement struct {
	PredicateType string `json:"predicateType"`
	Subject       []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
}

// maxSignatures bounds how many signatures of an envelope are tried.
const maxSignatures = 8

// Bundle verifies a Sigstore bundle: that a trusted key signed its statement, and that this signs the manifest with the digest.
func (k Keys) Bundle(body []byte, digest string) error {
	var b bundle
	if err := json.Unmarshal(body, &b); err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	e := b.Envelope
	if e.PayloadType != statementType {
		return fmt.Errorf("%w: an envelope of %q", ErrOtherImage, e.PayloadType)
	}
	message := preAuthentication(e.PayloadType, e.Payload)
	err := errors.New("bundle: it has no signature")
	for _, s := range e.Signatures[:min(len(e.Signatures), maxSignatures)] {
		if err = k.verify(message, s.Sig); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	var s statement
	if err := json.Unmarshal(e.Payload, &s); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	if s.PredicateType != signPredicate {
		return fmt.Errorf("%w: a statement of %q", ErrOtherImage, s.PredicateType)
	}
	algorithm, hex, _ := strings.Cut(digest, ":")
	for _, subject := range s.Subject {
		if subject.Digest[algorithm] == hex {
			return nil
		}
	}
	return fmt.Errorf("%w: a statement about other images", ErrOtherImage)
}

// preAuthentication is what an envelope's signatures are made of (DSSE v1.0, "PAE"): lengths keep type and payload apart.
func preAuthentication(payloadType string, payload []byte) []byte {
	return slices.Concat(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload)
}
