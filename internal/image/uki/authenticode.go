package uki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"debug/pe"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	tags "golang.org/x/crypto/cryptobyte/asn1"
)

// Microsoft's "Windows Authenticode Portable Executable Signature Format", and RFC 2315 (PKCS #7 1.5), which it builds on. UEFI 2.10 §32.2.4 has firmware check these.
var (
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidRSA           = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidIndirectData  = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 2, 1, 4}
	oidPEImageData   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 2, 1, 15}
)

const (
	certificateHeader   = 8
	certificateRevision = 0x0200 // WIN_CERT_REVISION_2_0
	certificateKind     = 0x0002 // WIN_CERT_TYPE_PKCS_SIGNED_DATA
	certificateAlign    = 8
)

// Sign adds a signature to an image that has none. The same key and image give the same bytes: there is no time in it.
func Sign(content []byte, key crypto.Signer, certificate *x509.Certificate) ([]byte, error) {
	public, ok := key.Public().(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("sign: want an RSA key, firmware knows no %T", key.Public())
	}
	if !public.Equal(certificate.PublicKey) {
		return nil, errors.New("sign: the certificate is not that of the key")
	}
	file, err := pe.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	h, err := parseHeader(content, file)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	if h.certificates.Size != 0 {
		return nil, errors.New("sign: the image is signed already")
	}
	out := bytes.Clone(content)
	out = append(out, make([]byte, int(align(uint32(len(out)), certificateAlign))-len(out))...)
	signature, err := signedData(imageDigest(out, h), key, certificate)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	at, length := len(out), certificateHeader+len(signature)
	le := binary.LittleEndian
	out = le.AppendUint32(out, uint32(length))
	out = le.AppendUint16(out, certificateRevision)
	out = le.AppendUint16(out, certificateKind)
	out = append(out, signature...)
	out = append(out, make([]byte, int(align(uint32(length), certificateAlign))-length)...)
	le.PutUint32(out[h.at+atCertificates:], uint32(at))
	le.PutUint32(out[h.at+atCertificates+4:], uint32(len(out)-at))
	putChecksum(out, h)
	return out, nil
}

// imageDigest is the hash of a file without its checksum, the place of its signature, and the signature. The sections are there one after the other,
// so that the order of the file is that of the standard.
func imageDigest(content []byte, h header) []byte {
	end := len(content)
	if h.certificates.Size != 0 {
		end = min(end, int(h.certificates.VirtualAddress))
	}
	hash := sha256.New()
	hash.Write(content[:h.at+atChecksum])
	hash.Write(content[h.at+atChecksum+4 : h.at+atCertificates])
	hash.Write(content[h.at+atCertificates+directoryBytes : end])
	return hash.Sum(nil)
}

// certificates are the entries of the attribute certificate table.
func certificates(content []byte, h header) [][]byte {
	from, size := int64(h.certificates.VirtualAddress), int64(h.certificates.Size)
	if size == 0 || from+size > int64(len(content)) {
		return nil
	}
	var out [][]byte
	for table := content[from:][:size]; len(table) > certificateHeader; {
		length := binary.LittleEndian.Uint32(table)
		if length <= certificateHeader || int64(length) > int64(len(table)) {
			break
		}
		out = append(out, table[certificateHeader:length])
		table = table[min(int64(align(length, certificateAlign)), int64(len(table))):]
	}
	return out
}

// signedData is the PKCS #7 message. EDK II expects the digest algorithm at offset 32 of it, where it is with two bytes for each length.
func signedData(digest []byte, key crypto.Signer, certificate *x509.Certificate) ([]byte, error) {
	indirect := indirectData(digest)
	attributes := signedAttributes(indirect)
	var set cryptobyte.Builder
	set.AddASN1(tags.SET, func(b *cryptobyte.Builder) { b.AddBytes(attributes) })
	signed, err := set.Bytes()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(signed)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var b cryptobyte.Builder
	sequence(&b, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidSignedData)
		explicit(b, 0, func(b *cryptobyte.Builder) {
			sequence(b, func(b *cryptobyte.Builder) {
				b.AddASN1Int64(1)
				b.AddASN1(tags.SET, func(b *cryptobyte.Builder) { algorithm(b, oidSHA256) })
				sequence(b, func(b *cryptobyte.Builder) {
					b.AddASN1ObjectIdentifier(oidIndirectData)
					explicit(b, 0, func(b *cryptobyte.Builder) { sequence(b, func(b *cryptobyte.Builder) { b.AddBytes(indirect) }) })
				})
				explicit(b, 0, func(b *cryptobyte.Builder) { b.AddBytes(certificate.Raw) })
				b.AddASN1(tags.SET, func(b *cryptobyte.Builder) { signerInfo(b, certificate, attributes, signature) })
			})
		})
	})
	return b.Bytes()
}

// indirectData is the content of an SpcIndirectDataContent, which is what is signed: without its tag and length.
func indirectData(digest []byte) []byte {
	var b cryptobyte.Builder
	sequence(&b, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidPEImageData)
		sequence(b, func(b *cryptobyte.Builder) { // SpcPeImageData: no flags, and a file name that is empty
			b.AddASN1BitString(nil)
			explicit(b, 0, func(b *cryptobyte.Builder) {
				explicit(b, 2, func(b *cryptobyte.Builder) { b.AddASN1(tags.Tag(0).ContextSpecific(), func(*cryptobyte.Builder) {}) })
			})
		})
	})
	sequence(&b, func(b *cryptobyte.Builder) {
		algorithm(b, oidSHA256)
		b.AddASN1OctetString(digest)
	})
	return b.BytesOrPanic() // of fixed lengths
}

// signedAttributes are the two that PKCS #7 demands, in the order of DER.
func signedAttributes(indirect []byte) []byte {
	sum := sha256.Sum256(indirect)
	var b cryptobyte.Builder
	sequence(&b, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidContentType)
		b.AddASN1(tags.SET, func(b *cryptobyte.Builder) { b.AddASN1ObjectIdentifier(oidIndirectData) })
	})
	sequence(&b, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidMessageDigest)
		b.AddASN1(tags.SET, func(b *cryptobyte.Builder) { b.AddASN1OctetString(sum[:]) })
	})
	return b.BytesOrPanic() // of fixed lengths
}

func signerInfo(b *cryptobyte.Builder, certificate *x509.Certificate, attributes, signature []byte) {
	sequence(b, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		sequence(b, func(b *cryptobyte.Builder) {
			b.AddBytes(certificate.RawIssuer)
			b.AddASN1BigInt(certificate.SerialNumber)
		})
		algorithm(b, oidSHA256)
		explicit(b, 0, func(b *cryptobyte.Builder) { b.AddBytes(attributes) })
		algorithm(b, oidRSA)
		b.AddASN1OctetString(signature)
	})
}

func sequence(b *cryptobyte.Builder, add func(*cryptobyte.Builder)) { b.AddASN1(tags.SEQUENCE, add) }

func explicit(b *cryptobyte.Builder, tag uint8, add func(*cryptobyte.Builder)) {
	b.AddASN1(tags.Tag(tag).ContextSpecific().Constructed(), add)
}

func algorithm(b *cryptobyte.Builder, oid asn1.ObjectIdentifier) {
	sequence(b, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oid)
		b.AddASN1NULL()
	})
}
