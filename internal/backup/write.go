package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/farrier-dev/farrier/internal/host/atomicfile"
)

// Writer takes the parts of a backup.
type Writer struct {
	archive *tar.Writer
	sums    map[string]string
	when    time.Time
}

// Write makes a file that only its owner can read, encrypted if there are recipients. parts writes what is in it. The file appears when it is whole, and
// never in the place of another.
func Write(path string, header Header, recipients []age.Recipient, parts func(*Writer) error) (err error) {
	header.Format = Format
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.Remove(draft.Name()))
	}()
	if err := errors.Join(write(draft, header, recipients, parts), draft.Close()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), path); err != nil { // unlike a rename, it replaces nothing
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

func write(file *os.File, header Header, recipients []age.Recipient, parts func(*Writer) error) error {
	buffered := bufio.NewWriterSize(file, 1<<20)
	var plain io.WriteCloser = nopCloser{buffered}
	if len(recipients) > 0 {
		var err error
		if plain, err = age.Encrypt(buffered, recipients...); err != nil {
			return err
		}
	}
	packed, _ := gzip.NewWriterLevel(plain, gzip.BestSpeed) // the level exists
	w := &Writer{archive: tar.NewWriter(packed), sums: map[string]string{}, when: header.Time}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if err := w.add(headerName, 0o600, text); err != nil {
		return err
	}
	if err := parts(w); err != nil {
		return err
	}
	if text, err = json.Marshal(w.sums); err != nil {
		return err
	}
	if err := w.add(sumsName, 0o600, text); err != nil {
		return err
	}
	for _, end := range []func() error{w.archive.Close, packed.Close, plain.Close, buffered.Flush, file.Sync} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (w *Writer) add(name string, mode fs.FileMode, content []byte) error {
	header := &tar.Header{Name: name, Mode: int64(mode.Perm()), Size: int64(len(content)), ModTime: w.when, Format: tar.FormatPAX}
	if err := w.archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.archive.Write(content)
	sum := sha256.Sum256(content)
	w.sums[name] = hex.EncodeToString(sum[:])
	return err
}

// Store adds the snapshot of the store.
func (w *Writer) Store(snapshot io.Reader) error {
	piece := make([]byte, pieceSize)
	for i := 0; ; i++ {
		n, err := io.ReadFull(snapshot, piece)
		if n > 0 {
			if err := w.add(fmt.Sprintf(storeName, i), 0o600, piece[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("snapshot of the store: %w", err)
		}
	}
}

// File adds a file of the data directory under its path in there. It may grow meanwhile.
func (w *Writer) File(root, path string) error {
	file, err := os.Open(filepath.Join(root, path))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
	if err != nil {
		return err
	}
	if len(content) > fileLimit {
		return fmt.Errorf("%s: larger than %d bytes", file.Name(), fileLimit)
	}
	return w.add(dataDir+filepath.ToSlash(path), info.Mode(), content)
}
