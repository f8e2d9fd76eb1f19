package viewfile

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// A frame is a message of these fields. Field 1 is that of Changes.
const (
	fieldRecord protowire.Number = 1 // Record
	fieldHeld   protowire.Number = 2 // Hello: held and observed
	fieldAt     protowire.Number = 3 // nanoseconds since 1970
)

// errFrame is for a frame that is authentic and makes no sense.
var errFrame = errors.New("view file: a frame that nobody wrote")

// Mark says how far the boot server has come.
type Mark struct {
	Position *streampb.Position
	Observed map[string]uint64
	// Current is when the manager said last that this is everything.
	Current time.Time
}

func appendMark(buf []byte, m Mark) ([]byte, error) {
	held, err := proto.Marshal(&streampb.Hello{Held: m.Position, Observed: m.Observed})
	if err != nil {
		return nil, err
	}
	buf = protowire.AppendTag(buf, fieldHeld, protowire.BytesType)
	buf = protowire.AppendBytes(buf, held)
	buf = protowire.AppendTag(buf, fieldAt, protowire.Fixed64Type)
	at := int64(0) // never
	if !m.Current.IsZero() {
		at = m.Current.UnixNano()
	}
	return protowire.AppendFixed64(buf, uint64(at)), nil
}

func appendRecord(buf, record []byte) []byte {
	buf = protowire.AppendTag(buf, fieldRecord, protowire.BytesType)
	return protowire.AppendBytes(buf, record)
}

// decode gives the records of a frame, encoded, to record, and its mark, if it has one, to mark.
func decode(frame []byte, record func([]byte) error, mark func(Mark)) error {
	var m Mark
	marked := false
	for len(frame) > 0 {
		number, kind, n := protowire.ConsumeTag(frame)
		if n < 0 {
			return errFrame
		}
		frame = frame[n:]
		switch {
		case number == fieldRecord && kind == protowire.BytesType, number == fieldHeld && kind == protowire.BytesType:
			value, n := protowire.ConsumeBytes(frame)
			if n < 0 {
				return errFrame
			}
			frame = frame[n:]
			if number == fieldRecord {
				if err := record(value); err != nil {
					return err
				}
				continue
			}
			var held streampb.Hello
			if err := proto.Unmarshal(value, &held); err != nil {
				return fmt.Errorf("%w: %w", errFrame, err)
			}
			m.Position, m.Observed, marked = held.GetHeld(), held.GetObserved(), true
		case number == fieldAt && kind == protowire.Fixed64Type:
			at, n := protowire.ConsumeFixed64(frame)
			if n < 0 {
				return errFrame
			}
			frame = frame[n:]
			if at != 0 {
				m.Current = time.Unix(0, int64(at))
			}
		default:
			n := protowire.ConsumeFieldValue(number, kind, frame)
			if n < 0 {
				return errFrame
			}
			frame = frame[n:]
		}
	}
	if marked {
		mark(m)
	}
	return nil
}

// keyOf finds the key of an encoded record without decoding the rest.
func keyOf(record []byte) (string, error) {
	for len(record) > 0 {
		number, kind, n := protowire.ConsumeTag(record)
		if n < 0 {
			return "", errFrame
		}
		record = record[n:]
		if number == 1 && kind == protowire.BytesType {
			key, n := protowire.ConsumeBytes(record)
			if n < 0 {
				return "", errFrame
			}
			return string(key), nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, record); n < 0 {
			return "", errFrame
		}
		record = record[n:]
	}
	return "", nil
}
