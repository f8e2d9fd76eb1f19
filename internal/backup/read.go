package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// magic is how an encrypted file begins.
const magic = "age-encryption.org/v1\n"

// Sink takes what a backup holds.
type Sink interface {
	// Header comes first.
	Header(Header) error
	// Store takes the next piece of the snapshot.
	Store(piece []byte) error
	// File takes a file of the data directory; its path is local.
	File(path string, mode fs.FileMode, content io.Reader) error
}

// Read hands everything in a file to a sink. Only when it returns without error is the file whole and what was written. Its errors name the file.
func Read(path string, identities []age.Identity, sink Sink) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := read(bufio.NewReaderSize(file, 1<<20), identities, sink); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	return nil
}

func read(file *bufio.Reader, identities []age.Identity, sink Sink) error {
	plain, err := decrypted(file, identities)
	if err != nil {
		return err
	}
	packed, err := gzip.NewReader(plain)
	if err != nil {
		return fmt.Errorf("is no backup of Farrier, or %w: %w", ErrDamaged, err)
	}
	r := &reader{archive: tar.NewReader(packed), sink: sink, sums: map[string]string{}}
	if err := r.readAll(); err != nil {
		return err
	}
	// What follows the archive is nothing, and gzip's own sum and age's are right.
	if rest, err := io.Copy(io.Discard, io.LimitReader(packed, smallLimit)); err != nil || rest == smallLimit {
		return damaged(err)
	}
	return nil
}

// decrypted opens what is encrypted.
func decrypted(file *bufio.Reader, identities []age.Identity) (io.Reader, error) {
	begin, _ := file.Peek(len(magic)) // a shorter file is none of ours
	if string(begin) != magic {
		return file, nil
	}
	if len(identities) == 0 {
		return nil, fmt.Errorf("is %w: give --identity-file or --passphrase-file", ErrKey)
	}
	plain, err := age.Decrypt(file, identities...)
	var mismatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &mismatch):
		return nil, fmt.Errorf("is %w for another key or passphrase", ErrKey)
	case err != nil:
		return nil, damaged(err)
	}
	return plain, nil
}

func damaged(err error) error {
	if err == nil {
		return fmt.Errorf("is %w", ErrDamaged)
	}
	return fmt.Errorf("is %w: %w", ErrDamaged, err)
}

type reader struct {
	archive *tar.Reader
	sink    Sink
	sums    map[string]string
	pieces  int
}

func (r *reader) readAll() error {
	for {
		entry, err := r.archive.Next()
		if err != nil { // also its end: the sums come before
			return damaged(err)
		}
		if entry.Typeflag != tar.TypeReg || len(r.sums) > filesLimit {
			return damaged(nil)
		}
		if len(r.sums) == 0 && entry.Name != headerName {
			return damaged(nil)
		}
		if entry.Name == sumsName {
			return r.verify()
		}
		if err := r.take(entry); err != nil {
			return err
		}
	}
}

// take hands an entry to the sink.
func (r *reader) take(entry *tar.Header) error {
	sum := sha256.New()
	content := &source{from: io.TeeReader(io.LimitReader(r.archive, fileLimit), sum)}
	var err error
	switch name := entry.Name; {
	case name == headerName && len(r.sums) == 0:
		err = r.header(content)
	case name == fmt.Sprintf(storeName, r.pieces) && entry.Size <= pieceSize:
		r.pieces++
		var piece []byte
		if piece, err = io.ReadAll(content); err == nil {
			err = r.sink.Store(piece)
		}
	case strings.HasPrefix(name, dataDir) && filepath.IsLocal(filepath.FromSlash(name[len(dataDir):])) && entry.Size <= fileLimit:
		err = r.sink.File(filepath.FromSlash(name[len(dataDir):]), fs.FileMode(entry.Mode).Perm(), content)
	default:
		return damaged(nil)
	}
	if content.err != nil {
		return damaged(content.err)
	}
	if err != nil {
		return err
	}
	if _, again := r.sums[entry.Name]; again {
		return damaged(nil)
	}
	r.sums[entry.Name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// source remembers whether it was the file that failed, or who writes what is read.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (r *reader) header(content io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(content, smallLimit))
	if err != nil {
		return err
	}
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return damaged(err)
	}
	if err := h.check(); err != nil {
		return err
	}
	return r.sink.Header(h)
}

func (r *reader) verify() error {
	text, err := io.ReadAll(io.LimitReader(r.archive, smallLimit))
	if err != nil {
		return damaged(err)
	}
	var want map[string]string
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&want); err != nil {
		return damaged(err)
	}
	if !maps.Equal(want, r.sums) {
		return damaged(errors.New("its sums are others"))
	}
	return nil
}
