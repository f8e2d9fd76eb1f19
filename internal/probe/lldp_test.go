package probe

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func tlv(kind int, value string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(kind<<9|len(value)))) + value
}

const (
	lldpHeader = "\x01\x80\xc2\x00\x00\x0e\x02\x00\x00\x00\x00\x01\x88\xcc"
	mandatory  = lldpHeader + "\x02\x07\x04\x02\x00\x00\x00\x00\x01" + "\x04\x05\x05eth1" + "\x06\x02\x00\x78"
)

// golden is a frame as a switch sends it, padding included.
const golden = "0180c200000e" + "0c1122334455" + "88cc" +
	"0207" + "04" + "0c1122334455" + // chassis ID: MAC
	"040a" + "05" + "45746865726e65742f" + // port ID: interface name
	"0602" + "0078" + // TTL 120 s
	"0806" + "736572766572" + // port description "server"
	"0a06" + "6c6561662d31" + // system name "leaf-1"
	"0c04" + "4e4f5320" + // system description "NOS "
	"0e04" + "0014" + "0014" + // bridge, router
	"100c" + "05" + "01" + "0a000001" + "02" + "00000001" + "00" + // 10.0.0.1
	"fe06" + "0080c2" + "01" + "0064" + // port VLAN 100
	"fe05" + "00120f" + "01" + "00" + // of another organisation
	"0000" + "000000000000"

func frameOf(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseLLDPGolden(t *testing.T) {
	got, gone, err := parseLLDP(frameOf(t, golden))
	if err != nil || gone {
		t.Fatal(err, gone)
	}
	want := inspection.Neighbor{
		ChassisID: "0c:11:22:33:44:55", PortID: "Ethernet/", PortDescription: "server", SystemName: "leaf-1", SystemDescription: "NOS",
		ManagementIP: "10.0.0.1", Capabilities: []string{"Bridge", "Router"}, VLANID: "100",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("neighbour (-want +got):\n%s", diff)
	}
}

func TestParseLLDP(t *testing.T) {
	for name, tc := range map[string]struct {
		frame string
		want  inspection.Neighbor
		gone  bool
		bad   string
	}{
		"without an end": {frame: mandatory, want: inspection.Neighbor{ChassisID: "02:00:00:00:00:01", PortID: "eth1"}},
		"addresses": {frame: lldpHeader + tlv(1, "\x05\x01\x0a\x00\x00\x02") + tlv(2, "\x03\x02\x00\x00\x00\x00\x09") + tlv(3, "\x00\x01") + tlv(8, "\x11\x02\xfd"+strings.Repeat("\x00", 14)+"\x01\x01") + tlv(0, ""),
			want: inspection.Neighbor{ChassisID: "10.0.0.2", PortID: "02:00:00:00:00:09", ManagementIP: "fd00::1"}},
		"takes leave":       {frame: mandatory[:len(mandatory)-1] + "\x00", want: inspection.Neighbor{ChassisID: "02:00:00:00:00:01", PortID: "eth1"}, gone: true},
		"control sequences": {frame: mandatory + tlv(5, "leaf\x1b[2J\x00\xff"), want: inspection.Neighbor{ChassisID: "02:00:00:00:00:01", PortID: "eth1", SystemName: "leaf[2J"}},
		"other protocol":    {frame: strings.Replace(mandatory, "\x88\xcc", "\x08\x00", 1), bad: "not an LLDP"},
		"too short":         {frame: "\x01\x80", bad: "not an LLDP"},
		"wrong order":       {frame: lldpHeader + tlv(2, "\x05eth1"), bad: "TLV 0 is of type 2, not 1"},
		"ends too soon":     {frame: lldpHeader + tlv(1, "\x04abcdef") + tlv(0, ""), bad: "TLV 1 is of type 0"},
		"length":            {frame: lldpHeader + "\x02\xff\x04", bad: "TLV 0: says 255 bytes, has 1"},
		"empty chassis":     {frame: lldpHeader + tlv(1, ""), bad: "cut short"},
		"management":        {frame: mandatory + tlv(8, "\xff\x01"), bad: "type 8: cut short"},
	} {
		got, gone, err := parseLLDP([]byte(tc.frame))
		if (err != nil) != (tc.bad != "") || err != nil && !strings.Contains(err.Error(), tc.bad) || gone != tc.gone {
			t.Errorf("%s: gone %t, error %v", name, gone, err)
		}
		if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzParseLLDP(f *testing.F) {
	f.Add(frameOf(f, golden))
	f.Add([]byte(mandatory))
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, _, err := parseLLDP(frame)
		if err != nil {
			return
		}
		for _, s := range []string{n.ChassisID, n.PortID, n.PortDescription, n.SystemName, n.SystemDescription, n.ManagementIP, n.VLANID} {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\x00") || len(s) > 2048 {
				t.Errorf("text %q", s)
			}
		}
	})
}

// script is what is heard: one event each time somebody reads.
type script struct {
	clock  *testclock.FakeClock
	events []heard
	joined []int
	closed bool
	refuse map[int]bool
}

type heard struct {
	link  int
	frame string
	err   error
}

func (s *script) Join(link int) error {
	if s.refuse[link] {
		delete(s.refuse, link)
		return errors.New("network is down")
	}
	s.joined = append(s.joined, link)
	return nil
}

// Read lets a second pass.
func (s *script) Read(buf []byte) (int, int, error) {
	s.clock.Step(time.Second)
	if len(s.events) == 0 {
		return 0, 0, os.ErrDeadlineExceeded
	}
	e := s.events[0]
	s.events = s.events[1:]
	if e.err != nil {
		return 0, 0, e.err
	}
	return copy(buf, e.frame), e.link, nil
}

func (s *script) Close() error {
	s.closed = true
	return nil
}

func from(name string) string {
	return lldpHeader + tlv(1, "\x07"+name) + tlv(2, "\x05p1") + tlv(3, "\x00\x78") + tlv(0, "")
}

func TestListener(t *testing.T) {
	up := func() map[int]linkState {
		return map[int]linkState{2: {"eth0", true}, 3: {"eth1", true}, 4: {"eth2", false}}
	}
	silence := heard{err: os.ErrDeadlineExceeded}
	leave := heard{2, strings.Replace(from("a"), "\x06\x02\x00\x78", "\x06\x02\x00\x00", 1), nil}
	neighbor := func(name string) inspection.Neighbor { return inspection.Neighbor{ChassisID: name, PortID: "p1"} }
	for name, tc := range map[string]struct {
		links  func() map[int]linkState
		events []heard
		refuse map[int]bool
		want   inspection.LLDP
		took   time.Duration
	}{
		"all heard": {up, []heard{{2, from("a"), nil}, silence, {3, from("b"), nil}}, nil,
			inspection.LLDP{{Name: "eth0", Neighbors: []inspection.Neighbor{neighbor("a")}}, {Name: "eth1", Neighbors: []inspection.Neighbor{neighbor("b")}}}, 3 * time.Second},
		"nobody":  {up, nil, nil, nil, 30 * time.Second},
		"twice":   {up, []heard{{2, from("a"), nil}, {2, from("a"), nil}}, nil, inspection.LLDP{{Name: "eth0", Neighbors: []inspection.Neighbor{neighbor("a")}}}, 30 * time.Second},
		"left":    {up, []heard{{2, from("a"), nil}, leave}, nil, nil, 30 * time.Second},
		"garbage": {up, []heard{{2, "garbage", nil}, {9, from("x"), nil}}, nil, nil, 30 * time.Second},
		"broken": {up, []heard{{3, from("a"), nil}, {err: errors.New("socket is gone")}}, nil,
			inspection.LLDP{{Name: "eth1", Neighbors: []inspection.Neighbor{neighbor("a")}}}, 2 * time.Second},
		"no links": {func() map[int]linkState { return nil }, nil, nil, nil, 30 * time.Second},
		"link refuses at first": {func() map[int]linkState { return map[int]linkState{2: {"eth0", true}} }, []heard{silence, silence, silence, silence, silence, silence, {2, from("a"), nil}}, map[int]bool{2: true},
			inspection.LLDP{{Name: "eth0", Neighbors: []inspection.Neighbor{neighbor("a")}}}, 7 * time.Second},
	} {
		clock := testclock.NewFakeClock(epoch)
		s := &script{clock: clock, events: tc.events, refuse: tc.refuse}
		opened := 0
		l := &Listener{Clock: clock, open: func() (frames, error) { opened++; return s, nil }}
		got := l.Hear(t.Context(), tc.links)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if took := clock.Since(epoch); took != tc.took || !s.closed {
			t.Errorf("%s: took %s, want %s; closed %t", name, took, tc.took, s.closed)
		}
		// A second report remembers.
		if diff := cmp.Diff(got, l.Hear(t.Context(), tc.links)); diff != "" || opened != 1 {
			t.Errorf("%s: listened %d times; second time (-first +second):\n%s", name, opened, diff)
		}
	}
}

func TestListenerThatCannot(t *testing.T) {
	l := &Listener{open: func() (frames, error) { return nil, errors.New("operation not permitted") }}
	if got := l.Hear(t.Context(), nil); got != nil {
		t.Errorf("heard %+v", got)
	}
	if got := (&Listener{Duration: -1}).Hear(t.Context(), nil); got != nil {
		t.Errorf("heard %+v", got)
	}
}
