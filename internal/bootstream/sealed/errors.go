package sealed

import (
	"errors"
	"fmt"
	"syscall"
)

// KeyFlag is the flag that names the key file.
const KeyFlag = "--view-key-file"

// ErrInUse is wrapped by the error of OpenDir when another process has the directory.
var ErrInUse = errors.New("in use")

// KeyError says that a file was sealed with another key.
type KeyError struct{ Path string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s was sealed with another key than that of %s: give it the file with the old key, or remove %s to start without what is in it",
		e.Path, KeyFlag, e.Path)
}

// DamageError says that a file is not as it was written. Nothing of it may be used.
type DamageError struct {
	Path   string
	Offset int64
	Why    string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s; nothing of it is used", e.Path, e.Offset, e.Why)
}

// VersionError says that a file has a format that this build does not know.
type VersionError struct {
	Path    string
	Version uint16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has format %d, this build knows %d: nothing of it is used", e.Path, e.Version, version)
}

// SizeError says that a payload does not fit into a frame.
type SizeError struct{ Bytes int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes do not fit into a frame, which holds %d", e.Bytes, MaxPayload)
}

// WriteError says that something could not be made durable. The file is as it was before.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	if e.Full() {
		return fmt.Sprintf("%s: there is no room on its disk: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s cannot be written: %v", e.Path, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }

// Full reports whether there was no room.
func (e *WriteError) Full() bool {
	return errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT)
}
