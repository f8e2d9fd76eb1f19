package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/test/golden"
)

const uuid = "4c4c4544-0043-3510-8052-b7c04f4e4d32"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// life is of a server that was discovered, claimed and booted.
func life(t *testing.T) (*metalv1.Server, []client.Object) {
	t.Helper()
	meta := func(namespace, name string, at time.Duration) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name), CreationTimestamp: metav1.NewTime(after(at))}
	}
	condition := func(kind string, status metav1.ConditionStatus, reason, message string, at time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(after(at))}
	}
	server := &metalv1.Server{ObjectMeta: meta("", "node-7", 0)}
	server.Spec.SystemUUID = uuid
	server.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "default", Name: "web"}
	server.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "default", Name: "web"}
	server.Status.State, server.Status.PowerState = metalv1.ServerStateReserved, metalv1.PowerStateOn
	server.Status.Conditions = []metav1.Condition{
		condition(metalv1.ConditionDiscovered, metav1.ConditionTrue, "ReportStored", "The report is on record", 9*time.Second),
		condition(metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Idle", "", 3*time.Second),
		condition("Odd", metav1.ConditionUnknown, "Asked", "evil \x1b[31m text", 10*time.Second),
	}
	claim := &metalv1.ServerClaim{ObjectMeta: meta("default", "web", 24*time.Hour)}
	claim.Status.Conditions = []metav1.Condition{condition("Bound", metav1.ConditionTrue, "Allocated", "Server node-7", 24*time.Hour)}
	config := &metalv1.ServerBootConfiguration{ObjectMeta: meta("default", "web", 24*time.Hour)}
	ordered, off, started := after(24*time.Hour+500*time.Millisecond), after(24*time.Hour+time.Second), after(24*time.Hour+4*time.Second)
	config.Annotations = map[string]string{metalv1.AnnotationBootAttempt: (&bootattempt.Attempt{ID: "b00710b00710", Number: 2, Ordered: &ordered, Off: &off, Started: &started}).String()}
	ready := condition("Ready", metav1.ConditionTrue, "Ready", "Image sha256:"+strings.Repeat("ab", 32), 24*time.Hour)
	config.Status.DeliveryAttempt = "b00710b00710"
	config.Status.Conditions = []metav1.Condition{
		ready,
		condition(bootv1.ConditionIPXEScriptFetched, metav1.ConditionTrue, "Delivered", "Delivered in boot attempt b00710b00710 to 10.0.0.7", 24*time.Hour),
	}
	ipxe := &bootv1.IPXEBootConfig{ObjectMeta: meta("default", "web", 24*time.Hour)}
	ipxe.Status.DeliveryAttempt = "0ther"
	ipxe.Status.Conditions = []metav1.Condition{
		ready, // says nothing new
		condition(bootv1.ConditionIgnitionDataFetched, metav1.ConditionTrue, "Delivered", "Delivered in boot attempt 0ther to 10.0.0.7", 24*time.Hour),
	}
	event := &corev1.Event{ObjectMeta: meta("default", "node-7.1", 0), Type: corev1.EventTypeWarning, Reason: "Late", Message: "Discovery takes long"}
	event.InvolvedObject.UID, event.EventTime = server.UID, metav1.NewMicroTime(after(8*time.Second))
	cleaned, err := machinerecord.Cleanup{Server: "node-7", Claim: "c1", Attempt: "c1ea", Mode: "metadata", Outcome: machinerecord.NotClean, Summary: "1 disk not clean"}.Object("farrier-system")
	if err != nil {
		t.Fatal(err)
	}
	cleaned.CreationTimestamp = metav1.NewTime(after(time.Hour))
	inspection := machinerecord.New("farrier-system", machinerecord.InspectionName("node-7"), machinerecord.KindInspection, "node-7", "d15c", nil)
	inspection.CreationTimestamp = metav1.NewTime(after(9 * time.Second))
	return server, []client.Object{server, claim, config, ipxe, event, cleaned, inspection}
}

// requests are those of its machine.
func requests() operator.Boots {
	step := func(kind bootview.DeliveryKind, what string, status int, bytes int64, at time.Duration) bootview.Step {
		return bootview.Step{Kind: kind, What: what, Entry: "IPXEBootConfig/default/web", Addr: "10.0.0.7", Status: status, Bytes: bytes, First: after(at), Last: after(at), Count: 1}
	}
	const day = 24 * time.Hour
	ranges := step(bootview.DeliveredArtifact, "squashfs", 206, 3<<30, day+5*time.Second)
	ranges.Count, ranges.Last = 7, after(day+9*time.Second)
	return operator.Boots{SystemUUID: uuid, Boots: []bootview.Boot{
		{Attempt: "d15c", Steps: []bootview.Step{
			step(bootview.DeliveredProgram, "x86_64/ipxe.efi", 200, 1<<20, 5*time.Second),
			step(bootview.DeliveredChainload, "", 200, 505, 5*time.Second+time.Millisecond),
			step(bootview.ReceivedReport, "", 201, 3000, 8*time.Second),
		}},
		{Attempt: "b00710b00710", Dropped: 3, Steps: []bootview.Step{
			step(bootview.DeliveredScript, "", 200, 1400, day+4900*time.Millisecond),
			step(bootview.DeliveredArtifact, "kernel", 200, 2<<20, day+4950*time.Millisecond),
			step(bootview.DeliveredArtifact, "initrd", 200, 4<<20, day+4960*time.Millisecond),
			ranges,
			step(bootview.DeliveredArtifact, "0123456789ab", 404, 10, day+5001*time.Millisecond),
			step(bootview.DeliveredIgnition, "", 403, 0, day+5002*time.Millisecond),
			step("Newer", "", 200, 1, day+5003*time.Millisecond),
		}},
	}}
}

// reader finds events by field, as an API server does; refused kinds may not be read.
type reader struct {
	client.Reader
	refused string
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, claim := into.(*metalv1.ServerClaim); claim && r.refused == "claims" {
		return errors.New("forbidden")
	}
	return r.Reader.Get(ctx, key, into, opts...)
}

func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	events, ok := list.(*corev1.EventList)
	if !ok {
		return r.Reader.List(ctx, list, opts...)
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	uid, ok := o.FieldSelector.RequiresExactMatch("involvedObject.uid")
	if !ok || uid == "" || o.Namespace == "" {
		return errors.New("all events of a cluster are asked for")
	}
	var all corev1.EventList
	if err := r.Reader.List(ctx, &all, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	for _, e := range all.Items {
		if string(e.InvolvedObject.UID) == uid {
			events.Items = append(events.Items, e)
		}
	}
	return nil
}

func read(t *testing.T, refused string) *Timeline {
	t.Helper()
	server, objects := life(t)
	source := Source{
		API: reader{controllertest.NewAPI(t, objects...), refused}, Namespace: "farrier-system",
		Boots: func(_ context.Context, asked string) (operator.Boots, error) {
			if asked != uuid {
				t.Errorf("asked for %q", asked)
			}
			return requests(), nil
		},
	}
	told, err := source.Read(t.Context(), server, uuid)
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func printed(t *testing.T, p *Printer, told *Timeline) string {
	t.Helper()
	var out bytes.Buffer
	p.Out, p.Zone = &out, time.UTC
	if err := errors.Join(p.Header(told), p.Print(told), p.Missing(told)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGolden(t *testing.T) {
	told := read(t, "claims")
	text := printed(t, &Printer{}, told)
	golden.Equal(t, "testdata/life.txt", text)
	if strings.ContainsRune(text, '\x1b') {
		t.Error("what others wrote reaches the terminal as it is")
	}
	content, err := json.MarshalIndent(read(t, ""), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/life.json", string(content)+"\n")
}

// TestFollowing: what was printed is not printed again, only because it was asked for once more.
func TestFollowing(t *testing.T) {
	told := read(t, "")
	p := &Printer{}
	printed(t, p, told)
	again := read(t, "")
	for i := range again.Entries {
		if e := &again.Entries[i]; e.Kind == KindRequest {
			e.Count, e.Bytes, e.Last = e.Count+1, 2*e.Bytes, &noon
			e.Time = e.Time.In(time.FixedZone("elsewhere", 3600))
		}
	}
	var out bytes.Buffer
	p.Out = &out
	if err := errors.Join(p.Header(again), p.Print(again)); err != nil || out.Len() > 0 {
		t.Errorf("%v, printed again:\n%s", err, out.String())
	}
	again.State = "Available"
	if err := p.Header(again); err != nil || !strings.HasPrefix(out.String(), "\nServer node-7, ") || !strings.Contains(out.String(), "state Available") {
		t.Errorf("%v, of another state: %q", err, out.String())
	}
	out.Reset()
	again.Entries = append(again.Entries, Entry{Time: after(25 * time.Hour), Kind: KindRequest, What: "script", Status: 200, Count: 1, Address: "10.0.0.7"})
	if err := p.Print(again); err != nil || out.String() != "13:00:00.000   script                  200       0 B  10.0.0.7\n" {
		t.Errorf("%v, of one new entry:\n%q", err, out.String())
	}
}

func TestMachineWithoutServer(t *testing.T) {
	source := Source{Boots: func(context.Context, string) (operator.Boots, error) { return operator.Boots{}, nil }}
	told, err := source.Read(t.Context(), nil, uuid)
	if err != nil {
		t.Fatal(err)
	}
	want := "Machine " + uuid + ", for which there is no Server\n\nFarrier knows nothing about it yet.\n"
	if got := printed(t, &Printer{}, told); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	fails := errors.New("away")
	source.Boots = func(context.Context, string) (operator.Boots, error) { return operator.Boots{}, fails }
	if _, err := source.Read(t.Context(), nil, uuid); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", 5 << 29: "2.5 GiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
