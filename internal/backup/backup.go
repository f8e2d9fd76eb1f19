package backup

import (
	"errors"
	"fmt"
	"time"
)

// Format is what this build writes, and the newest that it reads.
const Format = 1

const (
	headerName = "farrier-backup.json"
	sumsName   = "sums.json"
	storeName  = "etcd/%06d"
	storeDir   = "etcd/"
	dataDir    = "data/"

	// pieceSize is how much of the snapshot is read before it is written: tar wants to know the size of a file first.
	pieceSize = 4 << 20
	// smallLimit bounds the header and the sums, fileLimit each file of the data directory, and filesLimit how many there may be.
	smallLimit = 16 << 20
	fileLimit  = 1 << 30
	filesLimit = 100_000
)

var (
	// ErrNewer is wrapped by errors about a file of a newer format.
	ErrNewer = errors.New("of a newer version")
	// ErrDamaged is wrapped by errors about a file that is truncated, or is not what it was.
	ErrDamaged = errors.New("truncated or damaged")
	// ErrKey is wrapped by errors about a file that the given keys do not open.
	ErrKey = errors.New("encrypted")
)

// Header says what a file is.
type Header struct {
	Format int `json:"format"`
	// Farrier is the version that wrote it, and DataFormat the format of its data directory.
	Farrier    string    `json:"farrier"`
	DataFormat int       `json:"dataFormat"`
	Time       time.Time `json:"time"`
}

func (h Header) check() error {
	switch {
	case h.Format > Format:
		return fmt.Errorf("is a backup %w: format %d, this farrier knows %d; use the farrier %s that wrote it, or a newer one", ErrNewer, h.Format, Format, h.Farrier)
	case h.Format < 1:
		return fmt.Errorf("is no backup of Farrier, or %w", ErrDamaged)
	}
	return nil
}
