package disk

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// fakeController erases media as it is told and remembers each command.
type fakeController struct {
	media    []*medium // of its namespaces, 1 and following
	oacs     uint16
	sanicap  uint32
	fna      byte
	flbas    byte
	dps      byte
	commands []NVMeCommand
	states   []uint16 // SSTAT of the following looks, then of done
	fails    map[uint8]error
	lies     bool
	running  bool
}

// nvmeNamespace is one namespace of it as a device.
type nvmeNamespace struct {
	*medium
	*fakeController
}

func (c *fakeController) Admin(_ context.Context, cmd NVMeCommand) error {
	c.commands = append(c.commands, cmd)
	if err := c.fails[cmd.Opcode]; err != nil {
		return err
	}
	switch cmd.Opcode {
	case nvmeIdentify:
		if cmd.CDW10 == 1 {
			binary.LittleEndian.PutUint16(cmd.Data[256:], c.oacs)
			binary.LittleEndian.PutUint32(cmd.Data[328:], c.sanicap)
			cmd.Data[524] = c.fna
		} else {
			cmd.Data[26], cmd.Data[29] = c.flbas, c.dps
		}
	case nvmeGetLogPage:
		state := uint16(0)
		if c.running {
			state = sanitizeDone
		}
		if len(c.states) > 0 {
			state, c.states = c.states[0], c.states[1:]
		}
		binary.LittleEndian.PutUint16(cmd.Data[2:], state|1<<8) // global data erased, which is not the state
	case nvmeSanitize:
		if cmd.CDW10&7 == sanitizeExitFailure {
			c.running = false
			return nil
		}
		c.running = true
		c.eraseFrom(1, len(c.media))
	case nvmeFormat:
		if cmd.NSID == nvmeAllNamespaces || c.fna&3 != 0 {
			c.eraseFrom(1, len(c.media))
		} else {
			c.eraseFrom(int(cmd.NSID), int(cmd.NSID))
		}
	}
	return nil
}

func (c *fakeController) eraseFrom(first, last int) {
	for i := first; i <= last && !c.lies; i++ {
		c.media[i-1].erase()
	}
}

const fakeDisk = 64 << 20

func newController(namespaces int) *fakeController {
	c := &fakeController{oacs: 2, sanicap: 3, fna: 4, fails: map[uint8]error{}}
	for range namespaces {
		c.media = append(c.media, newMedium(fakeDisk).tenantData())
	}
	return c
}

func (c *fakeController) source() *fakeSource {
	src := newSource()
	for i, m := range c.media {
		d := Disk{BlockDevice: named("/dev/nvme0n" + string(rune('1'+i))), Namespace: uint32(i + 1), Group: "subsystem"}
		src.add(d, nvmeNamespace{m, c})
	}
	return src
}

// erasing are the commands but for those that only ask.
func (c *fakeController) erasing() []NVMeCommand {
	var out []NVMeCommand
	for _, cmd := range c.commands {
		if cmd.Opcode == nvmeFormat || cmd.Opcode == nvmeSanitize {
			out = append(out, cmd)
		}
	}
	return out
}

var anyTimeout = cmp.Options{cmpopts.IgnoreFields(NVMeCommand{}, "Timeout"), cmp.Transformer("length", func(b []byte) int { return len(b) })}

func TestSanitizeCommands(t *testing.T) {
	c := newController(1)
	c.states = []uint16{sanitizeNever, sanitizeRunning, sanitizeRunning, sanitizeDone}
	r := clean(t, c.source(), inspection.CleanFull)[0]
	if r.Result != inspection.CleanedOK || r.Method != "nvme-sanitize-block-erase" || r.Error != "" || r.Note != "" {
		t.Errorf("record %+v", r)
	}
	// NUMDL is 127: 128 dwords are the 512 bytes of the page.
	log := NVMeCommand{Opcode: 0x02, NSID: 0xffffffff, CDW10: 0x007f0081, Data: make([]byte, 512)}
	want := []NVMeCommand{
		{Opcode: 0x06, CDW10: 1, Data: make([]byte, 4096)},
		{Opcode: 0x06, NSID: 1, CDW10: 0, Data: make([]byte, 4096)},
		log,
		{Opcode: 0x84, CDW10: 0b1010}, // block erase, AUSE
		log, log, log,
	}
	if diff := cmp.Diff(want, c.commands, anyTimeout); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for i, cmd := range c.commands {
		if cmd.Timeout < time.Second {
			t.Errorf("command %d: timeout %s", i, cmd.Timeout)
		}
	}
	// Two pauses of two seconds while it ran.
	if r.Seconds != 4 {
		t.Errorf("%v seconds, want 4", r.Seconds)
	}
}

func TestSanitizeThatAnotherAgentBegan(t *testing.T) {
	c := newController(1)
	c.states = []uint16{sanitizeRunning, sanitizeRunning, sanitizeDone, sanitizeDoneAnyway}
	if r := clean(t, c.source(), inspection.CleanFull)[0]; r.Result != inspection.CleanedOK || r.Method != "nvme-sanitize-block-erase" {
		t.Errorf("record %+v", r)
	}
}

func TestSanitizeFallsBack(t *testing.T) {
	c := newController(1)
	// Never, then the block erase fails; never, then the crypto erase does.
	c.states = []uint16{sanitizeNever, sanitizeFailed, sanitizeNever, sanitizeFailed}
	r := clean(t, c.source(), inspection.CleanFull)[0]
	if r.Result != inspection.CleanedOK || r.Method != "nvme-format-crypto-erase" {
		t.Errorf("record %+v", r)
	}
	for _, m := range []string{"nvme-sanitize-block-erase", "nvme-sanitize-crypto-erase", errSanitizeFailed.Error()} {
		if !strings.Contains(r.Note, m) {
			t.Errorf("note %q does not say %q", r.Note, m)
		}
	}
	want := []NVMeCommand{
		{Opcode: 0x84, CDW10: 0b1010}, {Opcode: 0x84, CDW10: 0b0001},
		{Opcode: 0x84, CDW10: 0b1100}, {Opcode: 0x84, CDW10: 0b0001},
		{Opcode: 0x80, NSID: 1, CDW10: 2 << 9},
	}
	if diff := cmp.Diff(want, c.erasing(), anyTimeout); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestFormatKeepsTheFormat has every field that Format NVM would set anew.
func TestFormatKeepsTheFormat(t *testing.T) {
	c := newController(1)
	c.sanicap, c.fna = 0, 0
	c.flbas = 0b0101_0011 // format 0x23, metadata at the end of the block
	c.dps = 0b1010        // protection type 2, in the first bytes
	r := clean(t, c.source(), inspection.CleanFull)[0]
	if r.Method != "nvme-format-user-data-erase" || r.Result != inspection.CleanedOK {
		t.Errorf("record %+v", r)
	}
	const lbaf, mset, pi, pil, ses, lbafu = 3, 1 << 4, 2 << 5, 1 << 8, 1 << 9, 2 << 12
	want := []NVMeCommand{{Opcode: 0x80, NSID: 1, CDW10: lbaf | mset | pi | pil | ses | lbafu}}
	if diff := cmp.Diff(want, c.erasing(), anyTimeout); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestOneCommandForAllNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fakeController)
		want   []NVMeCommand
		method string
	}{
		"sanitize": {func(*fakeController) {}, []NVMeCommand{{Opcode: 0x84, CDW10: 0b1010}}, "nvme-sanitize-block-erase"},
		"format of all": {func(c *fakeController) { c.sanicap, c.fna = 0, 0b110 }, []NVMeCommand{{Opcode: 0x80, NSID: 0xffffffff, CDW10: 2 << 9}},
			"nvme-format-crypto-erase"},
		"format of each": {func(c *fakeController) { c.sanicap = 0 },
			[]NVMeCommand{{Opcode: 0x80, NSID: 1, CDW10: 2 << 9}, {Opcode: 0x80, NSID: 2, CDW10: 2 << 9}}, "nvme-format-crypto-erase"},
	} {
		c := newController(2)
		tc.change(c)
		for i, r := range clean(t, c.source(), inspection.CleanFull) {
			if r.Result != inspection.CleanedOK || r.Method != tc.method || len(c.media[i].blocks) != 0 {
				t.Errorf("%s: record %+v, %d blocks left", name, r, len(c.media[i].blocks))
			}
		}
		if diff := cmp.Diff(tc.want, c.erasing(), anyTimeout); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", name, diff)
		}
	}
}

// TestNamespacesThatStay: nothing that reaches a second namespace, which is exempt or could
// not be opened, is sent.
func TestNamespacesThatStay(t *testing.T) {
	for name, spoil := range map[string]func(*fakeSource){
		"in use":    func(s *fakeSource) { s.disks[1].InUse = "mounted at /" },
		"read-only": func(s *fakeSource) { s.disks[1].ReadOnly = true },
		"busy":      func(s *fakeSource) { s.openErr["/dev/nvme0n2"] = context.DeadlineExceeded },
	} {
		c := newController(2)
		c.fna = 0b111
		src := c.source()
		spoil(src)
		r := clean(t, src, inspection.CleanFull)[0]
		if r.Result != inspection.CleanedOK || r.Method != "overwrite" || !strings.Contains(r.Note, "sanitize would erase") || !strings.Contains(r.Note, "format would erase") {
			t.Errorf("%s: record %+v", name, r)
		}
		if got := c.erasing(); got != nil {
			t.Errorf("%s: commands %+v", name, got)
		}
		if len(c.media[0].blocks) != 0 || !c.media[1].has("secret 0", 0) {
			t.Errorf("%s: the wrong namespace was wiped", name)
		}
	}
}

func TestControllerThatLies(t *testing.T) {
	c := newController(1)
	c.lies = true
	r := clean(t, c.source(), inspection.CleanFull)[0]
	if r.Result != inspection.CleanedOK || r.Method != "overwrite" || !strings.Contains(r.Note, "are what they were") || len(c.media[0].blocks) != 0 {
		t.Errorf("record %+v", r)
	}
}

func TestControllerThatDoesNotAnswer(t *testing.T) {
	for _, opcode := range []uint8{nvmeIdentify, nvmeGetLogPage, nvmeSanitize, nvmeFormat} {
		c := newController(1)
		c.fails[opcode] = &NVMeStatusError{Opcode: opcode, Status: 0x201}
		r := clean(t, c.source(), inspection.CleanFull)[0]
		if r.Result != inspection.CleanedOK || len(c.media[0].blocks) != 0 {
			t.Errorf("opcode %#x: record %+v", opcode, r)
		}
		if opcode != nvmeFormat && !strings.Contains(r.Note, "status code type 0x2, code 0x01") {
			t.Errorf("opcode %#x: note %q", opcode, r.Note)
		}
	}
}
