package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// ATA commands (ACS-4 §7) that erasing takes.
const (
	ataIdentify        = 0xec
	ataSetPassword     = 0xf1
	ataUnlock          = 0xf2
	ataErasePrepare    = 0xf3
	ataEraseUnit       = 0xf4
	ataDisablePassword = 0xf6
)

const (
	ataSector  = 512
	ataTimeout = time.Minute
	// ataPassword locks the disk only from SECURITY SET PASSWORD to the end of the
	// erase, which takes it away again. It is no secret: it is here so that the next agent,
	// or a person, can unlock a disk that lost power in between.
	ataPassword = "farrier"
)

// ATA PASS-THROUGH (16) (SAT-4 §12.2.2).
const (
	scsiATAPassThrough16 = 0x85
	ataNonData           = 3
	ataPIOIn             = 4
	ataPIOOut            = 5
	ataLengthInCount     = 0x2 // T_LENGTH: the count field has the transfer length
	ataLengthInBlocks    = 1 << 2
	ataFromDevice        = 1 << 3
)

// Direction is which way the data of a command goes.
type Direction int

// The directions.
const (
	NoData Direction = iota
	FromDevice
	ToDevice
)

// SCSICommand is one command with its data.
type SCSICommand struct {
	CDB       []byte
	Direction Direction
	Data      []byte
	Timeout   time.Duration
}

// SenseError is a command that ended with CHECK CONDITION (SPC-5 §4.4).
type SenseError struct{ Key, ASC, ASCQ uint8 }

func (e *SenseError) Error() string {
	return fmt.Sprintf("CHECK CONDITION: sense key %#x, additional sense code %#02x/%#02x", e.Key, e.ASC, e.ASCQ)
}

// ataCommand wraps one ATA command with at most one sector of data.
func ataCommand(command uint8, d Direction, data []byte, timeout time.Duration) SCSICommand {
	cdb := make([]byte, 16)
	cdb[0], cdb[14] = scsiATAPassThrough16, command
	switch d {
	case FromDevice:
		cdb[1], cdb[2], cdb[6] = ataPIOIn<<1, ataFromDevice|ataLengthInBlocks|ataLengthInCount, 1
	case ToDevice:
		cdb[1], cdb[2], cdb[6] = ataPIOOut<<1, ataLengthInBlocks|ataLengthInCount, 1
	default:
		cdb[1] = ataNonData << 1
	}
	return SCSICommand{CDB: cdb, Direction: d, Data: data, Timeout: timeout}
}

// ataFacts is word 128 of IDENTIFY DEVICE and the times beside it (ACS-4 §7.13.6).
type ataFacts struct {
	supported, enabled, locked, frozen, expired, enhanced bool

	eraseTime, enhancedTime time.Duration // 0: the disk does not say
}

func askATA(ctx context.Context, t SCSITarget) (*ataFacts, error) {
	data := make([]byte, ataSector)
	if err := t.Command(ctx, ataCommand(ataIdentify, FromDevice, data, ataTimeout)); err != nil {
		return nil, fmt.Errorf("identify device: %w", err)
	}
	return parseATA(data), nil
}

func parseATA(identify []byte) *ataFacts {
	word := func(i int) uint16 { return binary.LittleEndian.Uint16(identify[2*i:]) }
	security := word(128)
	bit := func(n int) bool { return security>>n&1 != 0 }
	return &ataFacts{
		supported: bit(0), enabled: bit(1), locked: bit(2), frozen: bit(3), expired: bit(4), enhanced: bit(5),
		eraseTime: ataEraseTime(word(89)), enhancedTime: ataEraseTime(word(90)),
	}
}

// ataEraseTime reads words 89 and 90, in units of two minutes: with bit 15 the
// value has 15 bits, else 8.
func ataEraseTime(word uint16) time.Duration {
	units := word & 0xff
	if word&0x8000 != 0 {
		units = word & 0x7fff
	}
	return time.Duration(units) * 2 * time.Minute
}

func (f *ataFacts) methods() ([]Method, string) {
	switch {
	case !f.supported:
		return nil, ""
	case f.frozen:
		return nil, "ATA secure erase: the firmware has frozen the disk's security settings"
	case f.expired:
		return nil, "ATA secure erase: too many attempts since power-on"
	case f.enhanced:
		return []Method{MethodATAEnhancedErase, MethodATAErase}, ""
	}
	return []Method{MethodATAErase}, ""
}

// secureErase runs the whole sequence (ACS-4 §7.35 and following): only with a user
// password set does a disk take ERASE UNIT, and only right after ERASE PREPARE.
func (f *ataFacts) secureErase(ctx context.Context, t SCSITarget, enhanced bool) error {
	if err := f.takePassword(ctx, t); err != nil {
		return err
	}
	if err := f.erase(ctx, t, enhanced); err != nil {
		return errors.Join(err, removePassword(ctx, t))
	}
	after, err := askATA(ctx, t)
	if err != nil {
		return err
	}
	if after.enabled {
		return errors.Join(errors.New("the password is still set after the erase"), removePassword(ctx, t))
	}
	return nil
}

// takePassword sees to it that the user password is ours. One that is set already may be:
// an agent before this one may have been turned off in the middle of an erase. One that is not
// counts as one wrong attempt of the five that a disk allows until the next power-on.
func (f *ataFacts) takePassword(ctx context.Context, t SCSITarget) error {
	command, what := uint8(ataSetPassword), "set password"
	switch {
	case f.locked:
		command, what = ataUnlock, "unlock: the disk is locked with a password that is not ours"
	case f.enabled:
		command, what = ataDisablePassword, "disable password: somebody else set one, which locks the disk at the next power-on"
	}
	if err := t.Command(ctx, ataCommand(command, ToDevice, ataPasswordBlock(0), ataTimeout)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	// Should the erase fail, it is taken away, and a second try finds none.
	set := f.locked || !f.enabled
	f.locked, f.enabled = false, false
	if set {
		return nil
	}
	return f.takePassword(ctx, t)
}

func (f *ataFacts) erase(ctx context.Context, t SCSITarget, enhanced bool) error {
	if err := t.Command(ctx, ataCommand(ataErasePrepare, NoData, nil, ataTimeout)); err != nil {
		return fmt.Errorf("erase prepare: %w", err)
	}
	word, takes := uint16(0), f.eraseTime
	if enhanced {
		word, takes = 1<<1, f.enhancedTime
	}
	limit := hardwareTime(ctx)
	if takes > 0 {
		limit = min(limit, 2*takes+10*time.Minute)
	}
	if err := t.Command(ctx, ataCommand(ataEraseUnit, ToDevice, ataPasswordBlock(word), limit)); err != nil {
		return fmt.Errorf("erase unit: %w", err)
	}
	return nil
}

// removePassword leaves no disk behind that locks itself at the next power-on. It is
// tried even when the time for wiping is over.
func removePassword(ctx context.Context, t SCSITarget) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ataTimeout)
	defer cancel()
	if err := t.Command(ctx, ataCommand(ataDisablePassword, ToDevice, ataPasswordBlock(0), ataTimeout)); err != nil {
		return fmt.Errorf("the disk keeps the user password %q: disable password: %w", ataPassword, err)
	}
	return nil
}

// ataPasswordBlock is the data of the security commands: a control word, then the
// user password in 32 bytes.
func ataPasswordBlock(control uint16) []byte {
	block := make([]byte, ataSector)
	binary.LittleEndian.PutUint16(block, control)
	copy(block[2:34], ataPassword)
	return block
}
