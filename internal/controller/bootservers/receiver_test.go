package bootservers

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

const (
	namespace = "farrier-system"
	northUUID = "4c4c4544-0043-3510-8052-b7c04f4e4d32"
	southUUID = "9f2b4c1e-0d3a-4e5f-8a7b-1c2d3e4f5a6b"
	north     = "IPXEBootConfig/ns/north"
	south     = "IPXEBootConfig/ns/south"
)

// told is what reaches the controllers.
type told struct {
	delivered []bootview.Delivery
	alarmed   []bootview.Alarm
	bound     []string
	early     []string
	leased    []dhcp.Sighting
}

func (t *told) Delivered(d bootview.Delivery) { t.delivered = append(t.delivered, d) }
func (t *told) Alarmed(a bootview.Alarm)      { t.alarmed = append(t.alarmed, a) }
func (t *told) Bind(entry, session string, c bootview.Caller, _ bool) {
	t.bound = append(t.bound, entry+" "+session+" "+c.Addr.String()+" "+c.MAC)
}

// stand is a Receiver with a machine at each of two sites.
type stand struct {
	*Receiver
	told *told
	api  *controllertest.API
}

func newStand(t *testing.T) *stand {
	t.Helper()
	var objects []client.Object
	view := bootview.New()
	for site, uuid := range map[string]string{"north": northUUID, "south": southUUID} {
		s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: site, Labels: map[string]string{metalv1.LabelSite: site}}}
		s.Spec.SystemUUID, s.Spec.BootConfigurationRef = uuid, &metalv1.ObjectReference{Namespace: namespace, Name: site}
		var none *bootattempt.Attempt
		c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: site}}
		c.Annotations = map[string]string{metalv1.AnnotationBootAttempt: none.Next(site, controllertest.Start).SeenOn(controllertest.Start).String()}
		objects = append(objects, s, c)
		view.Put(bootview.Entry{
			Name: "IPXEBootConfig/ns/" + site, UUID: uuid, Rank: bootview.Current, Site: site,
			Attempt: bootview.Attempt{ID: site, Token: "token-" + site, Open: true}, Terms: bootview.Terms{Server: site},
		})
	}
	view.SetSynced(true)
	api := controllertest.NewAPI(t, objects...)
	s := &stand{told: &told{}, api: api}
	s.Receiver = New(Options{
		View: view, Delivery: s.told, History: &bootview.History{}, Unknown: &bootview.UnknownMachines{},
		Intake:  &reportintake.Intake{Client: api, APIReader: api, Namespace: namespace, Clock: api.Clock},
		Early:   func(server string) { s.told.early = append(s.told.early, server) },
		Leased:  func(c dhcp.Sighting) { s.told.leased = append(s.told.leased, c) },
		Servers: api, SiteOf: func(s *metalv1.Server) string { return s.Labels[metalv1.LabelSite] }, Clock: api.Clock, Logger: logr.Discard(),
	})
	return s
}

var (
	ofNorth = bootstream.Peer{Name: "boot-1.north.example", Site: "north"}
	nobodys = bootstream.Peer{Name: "boot-1.example"}
)

func tell(t *testing.T, s *stand, from bootstream.Peer, number uint64, m *streampb.TellRequest) {
	t.Helper()
	m.Instance, m.Number = "one", number
	if err := s.Tell(t.Context(), from, m); err != nil {
		t.Fatal(err)
	}
}

func everything(entry, uuid, server string) *streampb.TellRequest {
	caller := &streampb.Caller{Address: "10.0.0.7", Mac: "02-FA-44-00-00-0A"}
	return &streampb.TellRequest{
		Deliveries: []*streampb.Delivery{{Kind: "Script", Entry: entry, Uuid: uuid, Attempt: server, Address: "10.0.0.7", Status: 200, Count: 1, Bytes: 7}},
		Alarms:     []*streampb.Alarm{{Server: server, Uuid: uuid, Attempt: server, What: "Ignition", Caller: caller, Why: "it is another"}},
		Bindings:   []*streampb.Binding{{Entry: entry, Attempt: server, Caller: caller}},
		Early:      []string{server},
	}
}

func TestWhatABootServerTellsReachesControllers(t *testing.T) {
	s := newStand(t)
	tell(t, s, ofNorth, 1, everything(north, northUUID, "north"))
	switch got := s.told; {
	case len(got.delivered) != 1 || got.delivered[0].Entry != north || got.delivered[0].UUID != northUUID || got.delivered[0].Addr != "10.0.0.7":
		t.Errorf("delivered %+v", got.delivered)
	case len(got.alarmed) != 1 || got.alarmed[0].Server != "north" || got.alarmed[0].Caller.MAC != "02:fa:44:00:00:0a":
		t.Errorf("alarmed %+v", got.alarmed)
	case !slices.Equal(got.bound, []string{north + " north 10.0.0.7 02:fa:44:00:00:0a"}):
		t.Errorf("bound %q", got.bound)
	case !slices.Equal(got.early, []string{"north"}):
		t.Errorf("early %q", got.early)
	}
	if b := s.History.Boots(northUUID); len(b) != 1 || b[0].Steps[0].Bytes != 7 {
		t.Errorf("history %+v", b)
	}
}

// TestABootServerSpeaksForItsSiteAlone: for machines of another site, for those of a site if it has none, and of one site in the name of another.
func TestABootServerSpeaksForItsSiteAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		from bootstream.Peer
		what *streampb.TellRequest
	}{
		"of another site":                {ofNorth, everything(south, southUUID, "south")},
		"without a site":                 {nobodys, everything(south, southUUID, "south")},
		"the machine of another's entry": {ofNorth, &streampb.TellRequest{Deliveries: []*streampb.Delivery{{Kind: "Script", Entry: south, Uuid: northUUID}}}},
		"the entry with another machine": {ofNorth, &streampb.TellRequest{Deliveries: []*streampb.Delivery{{Kind: "Script", Entry: north, Uuid: southUUID}}}},
		"another spelling of the UUID":   {ofNorth, &streampb.TellRequest{Deliveries: []*streampb.Delivery{{Kind: "Report", Uuid: strings.ToUpper(southUUID), Attempt: "south"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			tell(t, s, tc.from, 1, tc.what)
			if got := s.told; len(got.delivered)+len(got.alarmed)+len(got.bound)+len(got.early) != 0 {
				t.Errorf("it is believed: %+v", got)
			}
			if len(s.History.Boots(southUUID))+len(s.History.Boots(northUUID)) != 0 {
				t.Error("the history has it")
			}
		})
	}
}

// TestTheSiteOfAMachineWithoutABootIsThatOfItsServer: a delivery can come after the boot config has gone.
func TestTheSiteOfAMachineWithoutABootIsThatOfItsServer(t *testing.T) {
	s := newStand(t)
	s.View.Delete(north)
	s.View.Delete(south)
	tell(t, s, ofNorth, 1, &streampb.TellRequest{Deliveries: []*streampb.Delivery{
		{Kind: "Script", Entry: north, Uuid: northUUID, Status: 200}, {Kind: "Script", Entry: south, Uuid: southUUID, Status: 200},
	}})
	if got := s.told.delivered; len(got) != 1 || got[0].UUID != northUUID || got[0].Entry != "" {
		t.Errorf("delivered %+v, want the one of its site, without the boot config that has gone", got)
	}
}

func TestARepetitionCountsOnce(t *testing.T) {
	s := newStand(t)
	for range 3 {
		tell(t, s, ofNorth, 1, everything(north, northUUID, "north"))
	}
	if len(s.told.delivered) != 1 {
		t.Errorf("it counts %d times", len(s.told.delivered))
	}
	tell(t, s, ofNorth, 2, everything(north, northUUID, "north"))
	if len(s.told.delivered) != 2 {
		t.Errorf("the next one: %d", len(s.told.delivered))
	}
}

func TestNothingIsTakenBeforeTheViewIsComplete(t *testing.T) {
	s := newStand(t)
	s.View.SetSynced(false)
	m := everything(north, northUUID, "north")
	m.Instance, m.Number = "one", 1
	if err := s.Tell(t.Context(), ofNorth, m); status.Code(err) != codes.Unavailable {
		t.Errorf("answered %v", err)
	}
	s.View.SetSynced(true)
	tell(t, s, ofNorth, 1, m)
	if len(s.told.delivered) != 1 {
		t.Error("it is lost")
	}
}

// TestWhatWasCoalescedIsTwoForConditions: what was given twice was read again.
func TestWhatWasCoalescedIsTwoForConditions(t *testing.T) {
	s := newStand(t)
	first, last := controllertest.Start.Add(-time.Hour), controllertest.Start.Add(-time.Minute)
	tell(t, s, ofNorth, 1, &streampb.TellRequest{Deliveries: []*streampb.Delivery{{
		Kind: "Ignition", Entry: north, Uuid: northUUID, Status: 200, Count: 5, Bytes: 50, First: timestamppb.New(first), Last: timestamppb.New(last),
	}}})
	if d := s.told.delivered; len(d) != 2 || !d[0].Time.Equal(first) || !d[1].Time.Equal(last) {
		t.Errorf("delivered %+v", d)
	}
	if step := s.History.Boots(northUUID)[0].Steps[0]; step.Count != 5 || step.Bytes != 50 || !step.First.Equal(first) || !step.Last.Equal(last) {
		t.Errorf("history %+v", step)
	}
}

// TestClientsOfABootServersDHCP reach adoption with the site of the boot server, whatever it says of itself, and unknown machines the list with what DHCP knows of them.
func TestClientsOfABootServersDHCP(t *testing.T) {
	s := newStand(t)
	first, last := controllertest.Start.Add(-time.Hour), controllertest.Start.Add(-time.Minute)
	tell(t, s, ofNorth, 1, &streampb.TellRequest{
		Leases: []*streampb.Lease{{Mac: "02-FA-44-00-00-0A", Address: "10.1.0.7", Held: []string{"2001:db8::7"}, Addresses: 100, Host: "idrac-7", Vendor: "iDRAC"}},
		Sightings: []*streampb.Sighting{
			{Mac: "52:54:00:00:00:01", Uuid: northUUID, Architecture: "arm64", Path: "DHCP PXEClient", First: timestamppb.New(first), Time: timestamppb.New(last), Count: 7},
			{Mac: "52:54:00:00:00:02", Architecture: "x86_64", Path: "DHCP HTTPClient", Time: timestamppb.New(last)},
		},
	})
	tell(t, s, nobodys, 1, &streampb.TellRequest{Leases: []*streampb.Lease{{Mac: "02:fa:44:00:00:0b", Address: "10.1.0.8", Machine: true}}})
	want := []dhcp.Sighting{
		{
			Client: dhcp.Client{MAC: "02:fa:44:00:00:0a", Host: "idrac-7", Vendor: "iDRAC"}, Addr: netip.MustParseAddr("10.1.0.7"),
			Held: []netip.Addr{netip.MustParseAddr("10.1.0.7"), netip.MustParseAddr("2001:db8::7")}, Apart: true, Site: "north", Addresses: 100,
		},
		{Client: dhcp.Client{MAC: "02:fa:44:00:00:0b"}, Addr: netip.MustParseAddr("10.1.0.8"), Held: []netip.Addr{netip.MustParseAddr("10.1.0.8")}, Apart: true, Machine: true},
	}
	if diff := cmp.Diff(want, s.told.leased, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	u := s.Unknown.List(controllertest.Start)
	if len(u) != 2 {
		t.Fatalf("unknown %+v", u)
	}
	if m := u[0]; m.MAC != "52:54:00:00:00:01" || m.UUID != northUUID || m.Architecture != "arm64" || !m.First.Equal(first) || !m.Last.Equal(last) || m.Times != 7 {
		t.Errorf("unknown %+v", m)
	}
	if m := u[1]; m.Architecture != "x86_64" || !m.First.Equal(last) || m.Times != 1 {
		t.Errorf("unknown %+v", m)
	}
}

// TestWhatIsKeptIsBounded: a boot server whose credentials were stolen may send anything.
func TestWhatIsKeptIsBounded(t *testing.T) {
	s := newStand(t)
	long := strings.Repeat("\x1b[31m", 10_000)
	tomorrow := timestamppb.New(controllertest.Start.Add(24 * time.Hour))
	tell(t, s, ofNorth, 1, &streampb.TellRequest{
		Deliveries: []*streampb.Delivery{{Kind: long, Entry: north, What: long, Uuid: northUUID, Attempt: long, Address: long, Mac: long, Bytes: -1, First: tomorrow, Last: tomorrow}},
		Alarms:     []*streampb.Alarm{{Server: "north", What: long, Why: long, Attempt: long, Uuid: long, Caller: &streampb.Caller{Address: long}, Time: tomorrow}},
		Sightings:  []*streampb.Sighting{{Address: long, Uuid: long, Mac: long, Serial: long, Path: long, Time: tomorrow, Architecture: long, First: tomorrow, Count: 1 << 31}},
		Leases: []*streampb.Lease{
			{Mac: long, Address: "10.1.0.1"}, {Mac: "02:fa:44:00:00:01", Address: long}, {Mac: "02:fa:44:00:00:01", Address: "127.0.0.1"}, {Mac: "02:fa:44:00:00:01", Address: "fe80::1"},
			{Mac: "02:fa:44:00:00:01", Address: "10.1.0.1", Held: slices.Repeat([]string{long, "10.1.0.1", "10.1.0.2"}, 1000), Addresses: 1 << 31, Host: long, Vendor: long},
		},
	})
	d, a := s.told.delivered[0], s.told.alarmed[0]
	for what, text := range map[string]string{"kind": string(d.Kind), "what": d.What, "attempt": d.Attempt, "why": a.Why, "asked for": string(a.What)} {
		if len(text) > mostText || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%s: %d bytes, %.20q", what, len(text), text)
		}
	}
	if d.Addr != "" || d.MAC != "" || d.Bytes != 0 || d.Time.After(controllertest.Start) || a.Time.After(controllertest.Start) || a.Caller.Addr != (netip.Addr{}) {
		t.Errorf("%+v %+v", d, a)
	}
	if u := s.Unknown.List(controllertest.Start); len(u) != 1 || u[0].Last.After(controllertest.Start) || u[0].First.After(controllertest.Start) || len(u[0].Architecture) > mostText {
		t.Errorf("unknown %+v", u)
	}
	l := s.told.leased
	if len(l) != 1 || len(l[0].Held) != 2 || len(l[0].Client.Host) > mostText || strings.ContainsRune(l[0].Client.Vendor, '\x1b') || l[0].Addresses != math.MaxInt32 {
		t.Errorf("leased %+v", l)
	}
}

func report(t *testing.T, uuid, attempt string) *streampb.StoreRequest {
	t.Helper()
	body, err := inspection.Encode(uuid, inspection.Report{})
	if err != nil {
		t.Fatal(err)
	}
	return &streampb.StoreRequest{Kind: &streampb.StoreRequest_Registration{Registration: body}, Attempt: attempt}
}

func bootState(t *testing.T, uuid, attempt string) *streampb.StoreRequest {
	t.Helper()
	body, err := inspection.EncodeBootState(uuid, true)
	if err != nil {
		t.Fatal(err)
	}
	return &streampb.StoreRequest{Kind: &streampb.StoreRequest_BootState{BootState: body}, Attempt: attempt}
}

// TestStore: what is stored, and what becomes of what is not.
func TestStore(t *testing.T) {
	const stored, unknown, tooLarge = streampb.StoreResponse_OUTCOME_STORED, streampb.StoreResponse_OUTCOME_UNKNOWN_MACHINE, streampb.StoreResponse_OUTCOME_TOO_LARGE
	elsewhere := "11111111-2222-4333-8444-555555555555"
	large := report(t, northUUID, "north")
	large.GetKind().(*streampb.StoreRequest_Registration).Registration = append(large.GetRegistration(), strings.Repeat(" ", maxReport)...)
	for name, tc := range map[string]struct {
		from    bootstream.Peer
		message *streampb.StoreRequest
		outcome streampb.StoreResponse_Outcome
		code    codes.Code
		written bool
	}{
		"a report":                        {ofNorth, report(t, northUUID, "north"), stored, codes.OK, true},
		"a boot state":                    {ofNorth, bootState(t, northUUID, "north"), stored, codes.OK, true},
		"of an unknown machine":           {ofNorth, report(t, elsewhere, "none"), unknown, codes.OK, false},
		"of another site":                 {ofNorth, report(t, southUUID, "south"), unknown, codes.OK, false},
		"a boot state of another site":    {ofNorth, bootState(t, southUUID, "south"), unknown, codes.OK, false},
		"of a site, by one that has none": {nobodys, report(t, northUUID, "north"), unknown, codes.OK, false},
		"of another site's attempt":       {ofNorth, report(t, northUUID, "south"), 0, codes.Unknown, false},
		"of an attempt that is not open":  {ofNorth, report(t, northUUID, "other"), 0, codes.Unknown, false},
		"without an attempt":              {ofNorth, report(t, northUUID, ""), 0, codes.PermissionDenied, false},
		"what is no report":               {ofNorth, &streampb.StoreRequest{Kind: &streampb.StoreRequest_Registration{Registration: []byte("{")}, Attempt: "north"}, 0, codes.InvalidArgument, false},
		"of a kind that nobody knows":     {ofNorth, &streampb.StoreRequest{Attempt: "north"}, 0, codes.Unimplemented, false},
		"too large":                       {ofNorth, large, tooLarge, codes.OK, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.api.ForgetWrites()
			outcome, err := s.Store(t.Context(), tc.from, tc.message)
			if outcome != tc.outcome || status.Code(err) != tc.code {
				t.Errorf("%v, %v", outcome, err)
			}
			if written := len(s.api.Writes("")) > 0; written != tc.written {
				t.Errorf("written: %v", s.api.Writes(""))
			}
		})
	}
}

// TestTheRecordOfAReport: sent twice it is one record.
func TestTheRecordOfAReport(t *testing.T) {
	s := newStand(t)
	for range 2 {
		if _, err := s.Store(t.Context(), ofNorth, report(t, northUUID, "north")); err != nil {
			t.Fatal(err)
		}
	}
	before := controllertest.Read[corev1.ConfigMap](t, s.api, namespace+"/north-inspection")
	if _, err := s.Store(t.Context(), ofNorth, report(t, northUUID, "north")); err != nil {
		t.Fatal(err)
	}
	if after := controllertest.Read[corev1.ConfigMap](t, s.api, namespace+"/north-inspection"); !slices.Equal(before.BinaryData["report"], after.BinaryData["report"]) {
		t.Error("the record has changed")
	}
}

var _ runtime.Object = &corev1.ConfigMap{}
