package inspection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/farrier-dev/farrier/internal/inspection/gzipped"
)

// Pack compresses a registration, attempt included, for the object of record.
// The same registration always gives the same bytes, so writing one again
// changes nothing.
func Pack(reg Registration) ([]byte, error) {
	raw := reg.Raw
	if raw == nil {
		var err error
		if raw, err = json.Marshal(reg.Data); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	body, err := json.Marshal(registrationWire{SystemUUID: reg.SystemUUID, Attempt: reg.Attempt, Data: raw})
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	packed, err := gzipped.Pack(body)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return packed, nil
}

// Unpack is the inverse of Pack. The limit is on the unpacked size: a few
// kilobytes of gzip can hold gigabytes.
func Unpack(packed []byte, limit int64) (Registration, error) {
	var body []byte
	err := gzipped.Unpack(packed, func(r io.Reader) (err error) {
		body, err = readLimited(r, limit)
		return err
	})
	if errors.Is(err, ErrTooLarge) {
		return Registration{}, err
	}
	if err != nil {
		return Registration{}, malformed("record", err)
	}
	return parse(body)
}
