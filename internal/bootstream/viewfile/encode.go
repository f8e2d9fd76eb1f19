package viewfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// A frame is a message of these fields. Field 1 is that of Changes.
const (
	fieldRecord protowire.Number = 1 // Record
	fieldHeld   protowire.Number = 2 // Hello: held and observed
	fieldHeard  protowire.Number = 3 // nanoseconds since 1970
	fieldUntil  protowire.Number = 4 // the same
)

// errFrame is for a frame that is authentic and makes no sense.
var errFrame = errors.New("view file: a frame that nobody wrote")

func appendMark(buf []byte, m bootstream.Progress) ([]byte, error) {
	held, err := proto.Marshal(&streampb.Hello{Held: m.Position, Observed: m.Observed})
	if err != nil {
		return nil, err
	}
	buf = protowire.AppendTag(buf, fieldHeld, protowire.BytesType)
	buf = protowire.AppendBytes(buf, held)
	return appendTime(appendTime(buf, fieldHeard, m.Heard), fieldUntil, m.SecretsUntil), nil
}

// appendTime leaves out the zero time.
func appendTime(buf []byte, field protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return buf
	}
	return protowire.AppendFixed64(protowire.AppendTag(buf, field, protowire.Fixed64Type), uint64(t.UnixNano()))
}

func appendRecord(buf, record []byte) []byte {
	buf = protowire.AppendTag(buf, fieldRecord, protowire.BytesType)
	return protowire.AppendBytes(buf, record)
}

// recordRoom is what a record needs in a frame beside itself, at most: a tag of one byte, and its length.
const recordRoom = 1 + binary.MaxVarintLen32

// encodeRecord appends a record whose size was just asked for.
func encodeRecord(buf []byte, record *streampb.Record, size int) ([]byte, error) {
	buf = protowire.AppendTag(buf, fieldRecord, protowire.BytesType)
	buf = protowire.AppendVarint(buf, uint64(size))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(buf, record)
}

// decode gives the records of a frame, encoded, to record, and its mark, if it has one, to mark.
func decode(frame []byte, record func([]byte) error, mark func(bootstream.Progress)) error {
	var m bootstream.Progress
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
		case (number == fieldHeard || number == fieldUntil) && kind == protowire.Fixed64Type:
			at, n := protowire.ConsumeFixed64(frame)
			if n < 0 {
				return errFrame
			}
			frame = frame[n:]
			if t := time.Unix(0, int64(at)); number == fieldHeard {
				m.Heard = t
			} else {
				m.SecretsUntil = t
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
