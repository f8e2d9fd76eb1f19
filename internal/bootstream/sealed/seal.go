package sealed

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

const (
	magic   = "farrier\n"
	version = uint16(1)

	purposeLen = 16
	saltLen    = 32
	checkLen   = 16
	// Offsets in the header.
	versionAt = len(magic)
	purposeAt = versionAt + 2
	saltAt    = purposeAt + purposeLen
	checkAt   = saltAt + saltLen
	crcAt     = checkAt + checkLen
	headerLen = crcAt + 4

	nonceLen = 12
	tagLen   = 16
	startLen = nonceLen + 4 + tagLen // of a frame, before what is sealed

	// MaxPayload is what a frame holds at most.
	MaxPayload = 64 << 20
)

// sealer seals and opens the frames of one file.
type sealer struct {
	aead    cipher.AEAD
	session [8]byte // the random part of nonces
	used    uint32  // the counter of nonces
}

// derive returns the sealer of a file, and what its header says of the key.
func derive(key Key, salt []byte, purpose string) (*sealer, []byte, error) {
	okm, err := hkdf.Key(sha256.New, key.secret, salt, "farrier sealed log 1 "+purpose, 32+checkLen)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(okm[:32])
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, err
	}
	s := &sealer{aead: aead}
	s.renew()
	return s, okm[32:], nil
}

func (s *sealer) renew() {
	_, _ = rand.Read(s.session[:]) // never fails: crypto/rand
	s.used = 0
}

// newHeader makes the header of a new file.
func newHeader(key Key, purpose string) ([]byte, *sealer, error) {
	if len(purpose) > purposeLen {
		return nil, nil, errors.New("sealed: purpose " + purpose + " is too long")
	}
	h := make([]byte, headerLen)
	copy(h, magic)
	binary.BigEndian.PutUint16(h[versionAt:], version)
	copy(h[purposeAt:], purpose)
	_, _ = rand.Read(h[saltAt:checkAt])
	s, check, err := derive(key, h[saltAt:checkAt], purpose)
	if err != nil {
		return nil, nil, err
	}
	copy(h[checkAt:], check)
	binary.BigEndian.PutUint32(h[crcAt:], crc32.ChecksumIEEE(h[:crcAt]))
	return h, s, nil
}

// readHeader checks a header. The CRC tells a damaged header from one that another key made.
func readHeader(h []byte, path string, key Key, purpose string) (*sealer, error) {
	damaged := func(why string) error { return &DamageError{Path: path, Why: why} }
	switch {
	case len(h) < headerLen:
		return nil, damaged("its header is not complete")
	case string(h[:versionAt]) != magic:
		return nil, damaged("it does not begin as a sealed log does")
	case binary.BigEndian.Uint32(h[crcAt:]) != crc32.ChecksumIEEE(h[:crcAt]):
		return nil, damaged("the checksum of its header is wrong")
	}
	if v := binary.BigEndian.Uint16(h[versionAt:]); v != version {
		return nil, &VersionError{Path: path, Version: v}
	}
	if is := string(bytes.TrimRight(h[purposeAt:saltAt], "\x00")); is != purpose {
		return nil, damaged("it is a log of another kind")
	}
	s, check, err := derive(key, h[saltAt:checkAt], purpose)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(check, h[checkAt:crcAt]) != 1 {
		return nil, &KeyError{Path: path}
	}
	return s, nil
}

// nonce returns the next pair of nonces; the last bit tells them apart.
func (s *sealer) nonce() (n [nonceLen]byte) {
	if s.used == 1<<31-1 {
		s.renew()
	}
	copy(n[:], s.session[:])
	binary.BigEndian.PutUint32(n[8:], s.used<<1)
	s.used++
	return n
}

// seal appends the frame of a payload to buf.
func (s *sealer) seal(buf []byte, index uint64, payload []byte) []byte {
	nonce := s.nonce()
	buf = append(buf, nonce[:]...)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)))
	buf = s.aead.Seal(buf, nonce[:], nil, about(index, len(payload)))
	nonce[nonceLen-1] |= 1
	return s.aead.Seal(buf, nonce[:], payload, about(index, len(payload)))
}

// start opens the start of a frame and returns how long what is sealed in it is, without its tag.
func (s *sealer) start(start []byte, index uint64) (length int, ok bool) {
	length = int(binary.BigEndian.Uint32(start[nonceLen:]))
	_, err := s.aead.Open(nil, start[:nonceLen], start[nonceLen+4:startLen], about(index, length))
	return length, err == nil
}

// open opens what is sealed in a frame, in place.
func (s *sealer) open(start, body []byte, index uint64) ([]byte, error) {
	nonce := [nonceLen]byte(start)
	nonce[nonceLen-1] |= 1
	return s.aead.Open(body[:0], nonce[:], body, about(index, len(body)-tagLen))
}

// about is what the tags of a frame cover beside its content.
func about(index uint64, length int) []byte {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:], index)
	binary.BigEndian.PutUint32(b[8:], uint32(length))
	return b[:]
}
