package disk

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// fakeATA is a SATA disk behind a translation layer. Each command is remembered byte by byte.
type fakeATA struct {
	*medium
	security uint16 // word 128
	times    [2]uint16
	fails    map[uint8]error // by ATA command
	keeps    bool            // the password stays after the erase
	failOnce map[uint8]error
	theirs   bool // a password that is set is not ours
	cdbs     []string
	data     []string // the first 40 bytes of what was sent
	limits   map[uint8]time.Duration
}

func newATA(security uint16) *fakeATA {
	return &fakeATA{medium: newMedium(fakeDisk).tenantData(), security: security, fails: map[uint8]error{}, limits: map[uint8]time.Duration{}}
}

func (a *fakeATA) Command(_ context.Context, c SCSICommand) error {
	a.cdbs = append(a.cdbs, hex.EncodeToString(c.CDB))
	command := c.CDB[14]
	a.limits[command] = c.Timeout
	if c.Direction == ToDevice {
		a.data = append(a.data, hex.EncodeToString(c.Data[:40]))
	}
	if err := a.fails[command]; err != nil {
		return err
	}
	if err := a.failOnce[command]; err != nil {
		delete(a.failOnce, command)
		return err
	}
	if a.theirs && (command == ataUnlock || command == ataDisablePassword) {
		return &SenseError{Key: 0xb}
	}
	switch command {
	case ataUnlock:
		a.security &^= 1 << 2
	case ataIdentify:
		binary.LittleEndian.PutUint16(c.Data[2*128:], a.security)
		binary.LittleEndian.PutUint16(c.Data[2*89:], a.times[0])
		binary.LittleEndian.PutUint16(c.Data[2*90:], a.times[1])
	case ataSetPassword:
		a.security |= 1 << 1
	case ataEraseUnit:
		a.erase()
		if !a.keeps {
			a.security &^= 1 << 1
		}
	case ataDisablePassword:
		a.security &^= 1 << 1
	}
	return nil
}

const (
	goldenIdentify = "85080e00000001000000000000" + "00ec00"
	goldenUnlock   = "850a0600000001000000000000" + "00f200"
	goldenSet      = "850a0600000001000000000000" + "00f100"
	goldenPrepare  = "85060000000000000000000000" + "00f300"
	goldenErase    = "850a0600000001000000000000" + "00f400"
	goldenDisable  = "850a0600000001000000000000" + "00f600"

	goldenPassword = "66617272696572" + "00000000000000000000000000000000000000000000000000" + "000000000000"
)

func TestSecureEraseCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		security uint16
		method   string
		control  string
	}{
		"enhanced": {1 | 1<<5, "ata-secure-erase-enhanced", "0200"},
		"plain":    {1, "ata-secure-erase", "0000"},
	} {
		a := newATA(tc.security)
		a.times = [2]uint16{30, 0x8000 | 300}
		r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
		if r.Result != inspection.CleanedOK || r.Method != tc.method || r.Note != "" || len(a.blocks) != 0 {
			t.Errorf("%s: record %+v", name, r)
		}
		if diff := cmp.Diff([]string{goldenIdentify, goldenSet, goldenPrepare, goldenErase, goldenIdentify}, a.cdbs); diff != "" {
			t.Errorf("%s: CDBs (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"0000" + goldenPassword, tc.control + goldenPassword}, a.data); diff != "" {
			t.Errorf("%s: data (-want +got):\n%s", name, diff)
		}
		want := map[string]time.Duration{"enhanced": 2*600*time.Minute + 10*time.Minute, "plain": 2*60*time.Minute + 10*time.Minute}[name]
		if got := a.limits[ataEraseUnit]; got > want || got < want/2 {
			t.Errorf("%s: erase unit may take %s, want %s", name, got, want)
		}
	}
}

func TestSecureEraseIsNotTried(t *testing.T) {
	for name, tc := range map[string]struct {
		security uint16
		note     string
	}{
		"not supported": {0, ""},
		"frozen":        {1 | 1<<3 | 1<<5, "frozen"},
		"expired":       {1 | 1<<4, "too many attempts"},
	} {
		a := newATA(tc.security)
		r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
		if r.Result != inspection.CleanedOK || r.Method != "overwrite" || !strings.Contains(r.Note, tc.note) || (r.Note == "") != (tc.note == "") {
			t.Errorf("%s: record %+v", name, r)
		}
		if diff := cmp.Diff([]string{goldenIdentify}, a.cdbs); diff != "" {
			t.Errorf("%s: CDBs (-want +got):\n%s", name, diff)
		}
	}
}

// TestPasswordThatIsSetAlready: ours is of an agent that was turned off in the middle.
func TestPasswordThatIsSetAlready(t *testing.T) {
	for name, tc := range map[string]struct {
		security     uint16
		theirs       bool
		method, note string
		cdbs         []string
	}{
		"locked, ours":   {1 | 1<<1 | 1<<2, false, "ata-secure-erase", "", []string{goldenIdentify, goldenUnlock, goldenPrepare, goldenErase, goldenIdentify}},
		"locked, theirs": {1 | 1<<1 | 1<<2, true, "overwrite", "locked with a password that is not ours", []string{goldenIdentify, goldenUnlock}},
		"open, ours":     {1 | 1<<1, false, "ata-secure-erase", "", []string{goldenIdentify, goldenDisable, goldenSet, goldenPrepare, goldenErase, goldenIdentify}},
		"open, theirs":   {1 | 1<<1, true, "overwrite", "somebody else set one", []string{goldenIdentify, goldenDisable}},
	} {
		a := newATA(tc.security)
		a.theirs = tc.theirs
		r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
		if r.Result != inspection.CleanedOK || r.Method != tc.method || !strings.Contains(r.Note, tc.note) || (r.Note == "") != (tc.note == "") {
			t.Errorf("%s: record %+v", name, r)
		}
		if diff := cmp.Diff(tc.cdbs, a.cdbs); diff != "" {
			t.Errorf("%s: CDBs (-want +got):\n%s", name, diff)
		}
	}
}

// TestSecondTryAfterUnlocking: the enhanced erase fails, the plain one begins anew.
func TestSecondTryAfterUnlocking(t *testing.T) {
	a := newATA(1 | 1<<1 | 1<<2 | 1<<5)
	a.failOnce = map[uint8]error{ataEraseUnit: &SenseError{Key: 0xb}}
	r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
	if r.Result != inspection.CleanedOK || r.Method != "ata-secure-erase" || !strings.Contains(r.Note, "ata-secure-erase-enhanced: erase unit") {
		t.Errorf("record %+v", r)
	}
	want := []string{goldenIdentify, goldenUnlock, goldenPrepare, goldenErase, goldenDisable, goldenSet, goldenPrepare, goldenErase, goldenIdentify}
	if diff := cmp.Diff(want, a.cdbs); diff != "" {
		t.Errorf("CDBs (-want +got):\n%s", diff)
	}
}

// TestSecureEraseFailsAtEachStep: the disk is overwritten, and no password stays.
func TestSecureEraseFailsAtEachStep(t *testing.T) {
	aborted := &SenseError{Key: 0xb, ASC: 0x0, ASCQ: 0x1d}
	for command, want := range map[uint8][]string{
		ataIdentify:     {goldenIdentify},
		ataSetPassword:  {goldenIdentify, goldenSet},
		ataErasePrepare: {goldenIdentify, goldenSet, goldenPrepare, goldenDisable},
		ataEraseUnit:    {goldenIdentify, goldenSet, goldenPrepare, goldenErase, goldenDisable},
	} {
		a := newATA(1)
		a.fails[command] = aborted
		r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
		if r.Result != inspection.CleanedOK || r.Method != "overwrite" || !strings.Contains(r.Note, "sense key 0xb") || len(a.blocks) != 0 {
			t.Errorf("command %#x: record %+v", command, r)
		}
		if diff := cmp.Diff(want, a.cdbs); diff != "" {
			t.Errorf("command %#x: CDBs (-want +got):\n%s", command, diff)
		}
		if a.security&2 != 0 {
			t.Errorf("command %#x: the disk keeps the password", command)
		}
	}
}

func TestPasswordThatStaysIsSaid(t *testing.T) {
	a := newATA(1)
	a.keeps = true
	a.fails[ataDisablePassword] = &SenseError{Key: 0xb}
	r := one(t, Disk{ATA: true}, a, inspection.CleanFull)
	if !strings.Contains(r.Note, `keeps the user password "farrier"`) {
		t.Errorf("record %+v", r)
	}
}

func TestParseSense(t *testing.T) {
	fixed := make([]byte, 18)
	fixed[0], fixed[2], fixed[12], fixed[13] = 0xf0, 0x05, 0x24, 0x01
	for name, tc := range map[string]struct {
		in   []byte
		want SenseError
	}{
		"descriptor": {[]byte{0x72, 0x0b, 0x00, 0x1d}, SenseError{0xb, 0, 0x1d}},
		"fixed":      {fixed, SenseError{5, 0x24, 1}},
		"cut short":  {[]byte{0x70}, SenseError{}},
		"nothing":    {nil, SenseError{}},
	} {
		if got := *parseSense(tc.in); got != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
