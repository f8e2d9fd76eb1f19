package sealed

import (
	"errors"
	"os"
)

// Draft is a log that is written aside. It takes the place of the log of its name when it is complete.
type Draft struct{ log *Log }

// NewDraft begins a log. There is one draft of a name at a time.
func NewDraft(dir *Dir, name, purpose string, key Key) (*Draft, error) {
	file, _, err := dir.open(name+aside, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, &WriteError{Path: dir.join(name), Err: err}
	}
	d := &Draft{log: &Log{dir: dir, name: name, file: file, size: int64(headerLen), unnamed: true}}
	header, s, err := newHeader(key, purpose)
	if err == nil {
		d.log.sealer = s
		_, err = file.WriteAt(header, 0)
	}
	if err != nil {
		return nil, errors.Join(&WriteError{Path: dir.join(name), Err: err}, d.Discard())
	}
	return d, nil
}

// Append adds a payload, as one frame. After an error only Discard is left to do.
func (d *Draft) Append(payload []byte) error {
	if len(payload) > MaxPayload {
		return &SizeError{Bytes: len(payload)}
	}
	if err := d.log.write(payload); err != nil {
		return &WriteError{Path: d.log.path(), Err: err}
	}
	return nil
}

// Size is the length of the draft in bytes.
func (d *Draft) Size() int64 { return d.log.size }

// Commit puts the draft in its place and returns it as a log. Without a log the old one is as it was. With a log and an error the new one is in
// its place, but a crash may still bring the old one back; the next Append makes sure first.
func (d *Draft) Commit() (*Log, error) {
	path := d.log.path()
	err := d.log.file.Sync()
	if err == nil {
		err = os.Rename(path+aside, path)
	}
	if err != nil {
		return nil, errors.Join(&WriteError{Path: path, Err: err}, d.Discard())
	}
	if err := d.log.mend(); err != nil {
		return d.log, &WriteError{Path: path, Err: err}
	}
	return d.log, nil
}

// Discard removes the draft.
func (d *Draft) Discard() error {
	return errors.Join(d.log.file.Close(), os.Remove(d.log.path()+aside))
}
