package bootservers

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const bootNorth, bootSouth = "boot-1.north.example", "boot-1.south.example"

// watch is a Statuses with what it looks at.
type watch struct {
	*Statuses
	t         *testing.T
	api       *controllertest.API
	clock     *clocktesting.FakeClock
	table     peer.Table
	seen      map[string]peer.Peer
	following []bootstream.BootServer
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{
		t: t, api: controllertest.NewAPI(t), clock: clocktesting.NewFakeClock(controllertest.Start),
		table: peer.Table{bootNorth: {Site: "north"}, bootSouth: {Site: "south"}}, seen: map[string]peer.Peer{},
	}
	w.begin()
	return w
}

// begin begins a term.
func (w *watch) begin() {
	w.Statuses = &Statuses{
		Client: w.api, APIReader: w.api, Namespace: namespace, Clock: w.clock, Logger: logr.Discard(), absent: map[string]time.Time{},
		Table: func() peer.Table { return w.table }, Seen: func() map[string]peer.Peer { return w.seen },
		Following: func() []bootstream.BootServer { return w.following },
	}
}

// connects has a boot server follow, with a certificate of 90 days.
func (w *watch) connects(name string, health *streampb.Health) {
	site, now := w.table[name].Site, w.clock.Now()
	w.seen[name] = peer.Peer{Name: name, Site: site, Issued: now, Expires: now.Add(90 * 24 * time.Hour)}
	w.following = append(w.following, bootstream.BootServer{Peer: bootstream.Peer{Name: name, Site: site}, Since: now, Health: health})
}

// after looks some time later, and returns the conditions of a boot server as the ConfigMap has them.
func (w *watch) after(d time.Duration, name string) string {
	w.t.Helper()
	w.clock.Step(d)
	if err := w.look(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	statuses, err := ReadStatuses(w.t.Context(), w.api, namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	var reasons []string
	for _, c := range statuses[name].Conditions {
		reasons = append(reasons, c.Type+"="+c.Reason)
	}
	slices.Sort(reasons)
	return strings.Join(reasons, " ")
}

func (w *watch) want(got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s\nwant %s", got, want)
	}
}

// TestStatusesOfBootServers follows two boot servers through their lives.
func TestStatusesOfBootServers(t *testing.T) {
	w := newWatch(t)
	w.want(w.after(0, bootNorth), "") // it may be on its way
	w.connects(bootNorth, nil)
	w.want(w.after(toCome, bootNorth), "CertificateValid=Valid Connected=Follows")
	w.want(w.after(0, bootSouth), "Connected=NeverConnected Healthy=NotConnected Ready=NotConnected RecordsUsable=NotConnected")

	w.following[0].Health = &streampb.Health{Ready: true}
	w.want(w.after(lookEvery, bootNorth), "CertificateValid=Valid Connected=Follows Healthy=NoProblems Ready=Ready RecordsUsable=AllUsable")
	w.following[0].Health = &streampb.Health{Problems: []string{"the disk\nis full"}}
	w.following[0].Refused = map[string]*streampb.Refusal{"k": {}}
	w.want(w.after(lookEvery, bootNorth), "CertificateValid=Valid Connected=Follows Healthy=Problems Ready=NotReady RecordsUsable=Refused")
	statuses, _ := ReadStatuses(t.Context(), w.api, namespace)
	if c := apimeta.FindStatusCondition(statuses[bootNorth].Conditions, ConditionHealthy); c.Message != "the disk?is full" {
		t.Errorf("it is said to say %q", c.Message)
	}

	since := statuses[bootNorth].Since.Time
	w.following = nil
	w.want(w.after(lookEvery, bootNorth), "CertificateValid=Valid Connected=Follows Healthy=Problems Ready=NotReady RecordsUsable=Refused") // it may come back
	w.want(w.after(toCome, bootNorth), "CertificateValid=Valid Connected=Disconnected Healthy=NotConnected Ready=NotConnected RecordsUsable=NotConnected")
	statuses, _ = ReadStatuses(t.Context(), w.api, namespace)
	if !statuses[bootNorth].Since.After(since) {
		t.Errorf("it is gone since %v, and came at %v", statuses[bootNorth].Since, since)
	}

	const late = "CertificateValid=RenewalLate Connected=Disconnected Healthy=NotConnected Ready=NotConnected RecordsUsable=NotConnected"
	w.want(w.after(80*24*time.Hour, bootNorth), late)
	w.seen = map[string]peer.Peer{}
	w.begin() // another manager, where nobody has connected yet
	w.want(w.after(0, bootNorth), late)
	w.want(w.after(20*24*time.Hour, bootNorth), strings.Replace(late, "RenewalLate", "Expired", 1))

	delete(w.table, bootNorth)
	w.after(0, bootNorth)
	if statuses, _ = ReadStatuses(t.Context(), w.api, namespace); len(statuses) != 1 {
		t.Errorf("there are %v", slices.Collect(maps.Keys(statuses)))
	}
}

// TestWhatHasNotChangedIsNotWritten: heartbeats cost the API nothing.
func TestWhatHasNotChangedIsNotWritten(t *testing.T) {
	w := newWatch(t)
	w.connects(bootNorth, &streampb.Health{Ready: true})
	w.after(toCome, bootNorth)
	w.after(toCome, bootNorth)
	before := w.object.ResourceVersion
	for range 10 {
		w.following[0].Health = &streampb.Health{Ready: true, Records: 7, Waiting: 3}
		w.after(lookEvery, bootNorth)
	}
	if w.object.ResourceVersion != before {
		t.Error("it is written again")
	}
}

// TestAStatusThatSomebodyElseHasWritten: a conflict is read, and written anew.
func TestAStatusThatSomebodyElseHasWritten(t *testing.T) {
	w := newWatch(t)
	w.connects(bootNorth, nil)
	w.after(0, bootNorth)
	other := w.object.DeepCopy()
	other.Data = map[string]string{bootNorth: "not: [a status", bootSouth: "site: south\n"}
	if err := w.api.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.following = nil
	w.clock.Step(time.Hour)
	if err := w.look(t.Context()); err == nil {
		t.Fatal("the conflict is not noticed")
	}
	w.want(w.after(toCome, bootNorth), "CertificateValid=Valid Connected=NeverConnected Healthy=NotConnected Ready=NotConnected RecordsUsable=NotConnected")
}
