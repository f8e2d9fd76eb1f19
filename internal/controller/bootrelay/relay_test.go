package bootrelay

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// stand is a relay before an API in memory.
type stand struct {
	*controllertest.API
	relay *Relay
	known []string // attempts that those who answer machines have
	here  bool     // the Server is looked after in this process
	woken []string
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	s := &stand{API: controllertest.NewAPI(t, objects...)}
	s.relay = &Relay{
		Client: s.API, Acknowledged: func(attempt string) bool { return slices.Contains(s.known, attempt) },
		Alarms:    &alarm.Board{Wake: func(server string) { s.woken = append(s.woken, server) }},
		Elsewhere: func(*metalv1.Server) bool { return !s.here },
	}
	return s
}

// booting is a Server "s" that boots by the boot configurations "own" and "maintenance".
func booting() *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{"other": "x"}}}
	s.Spec.BootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "own"}
	s.Spec.MaintenanceBootConfigurationRef = &metalv1.ObjectReference{Namespace: "ns", Name: "maintenance"}
	return s
}

// config is a boot configuration of Server "s" with an attempt that was ordered, and changed since.
func config(name, attempt string, changed ...func(*bootattempt.Attempt)) *metalv1.ServerBootConfiguration {
	c := &metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{"other": "x"}}}
	c.Spec.ServerRef.Name = "s"
	if attempt != "" {
		var none *bootattempt.Attempt
		a := none.Next(attempt, controllertest.Start)
		for _, change := range changed {
			change(a)
		}
		c.Annotations[metalv1.AnnotationBootAttempt] = a.String()
	}
	return c
}

func started(a *bootattempt.Attempt)   { a.Started = &controllertest.Start }
func installed(a *bootattempt.Attempt) { a.Installed = &controllertest.Start }
func disk(a *bootattempt.Attempt)      { a.Disk = true }

// says is the attempt of which a boot configuration says that it is known.
func (s *stand) says(t *testing.T, name string) string {
	t.Helper()
	c := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/"+name)
	if c.Annotations["other"] != "x" {
		t.Errorf("%s: other annotations are lost: %v", name, c.Annotations)
	}
	return c.Annotations[metalv1.AnnotationBootAcknowledged]
}

// TestAnAttemptIsAcknowledgedForAnotherManager when it waits for that, and is known; and once.
func TestAnAttemptIsAcknowledgedForAnotherManager(t *testing.T) {
	elsewhere := config("own", "a")
	elsewhere.Spec.ServerRef.Name = "another"
	acknowledged := config("own", "a")
	acknowledged.Annotations[metalv1.AnnotationBootAcknowledged] = "a"
	earlier := config("own", "a")
	earlier.Annotations[metalv1.AnnotationBootAcknowledged] = "before"
	unreadable := config("own", "")
	unreadable.Annotations[metalv1.AnnotationBootAttempt] = "{"
	for name, c := range map[string]struct {
		config *metalv1.ServerBootConfiguration
		known  string
		here   bool
		want   string
		writes int
	}{
		"known":                                 {config: config("own", "a"), known: "a", want: "a", writes: 1},
		"known, and an earlier one was":         {config: earlier, known: "a", want: "a", writes: 1},
		"not known":                             {config: config("own", "a"), known: "b"},
		"acknowledged before":                   {config: acknowledged, known: "a", want: "a"},
		"no attempt":                            {config: config("own", ""), known: ""},
		"an attempt that cannot be read":        {config: unreadable, known: ""},
		"started":                               {config: config("own", "a", started), known: "a"},
		"installed":                             {config: config("own", "a", installed), known: "a"},
		"from disk":                             {config: config("own", "a", disk), known: "a"},
		"of another Server":                     {config: elsewhere, known: "a"},
		"of a Server that is looked after here": {config: config("own", "a"), known: "a", here: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, booting(), c.config)
			s.known, s.here = []string{c.known}, c.here
			for range 2 {
				s.Step(t, s.relay, "s")
			}
			if got := s.says(t, "own"); got != c.want || len(s.Writes("")) != c.writes {
				t.Errorf("it says %q after %v; want %q after %d writes", got, s.Writes(""), c.want, c.writes)
			}
			if read := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/own"); Acknowledged(read, "a") != (c.want == "a") || Acknowledged(read, "") {
				t.Errorf("read: %t, and without an attempt %t", Acknowledged(read, "a"), Acknowledged(read, ""))
			}
		})
	}
}

// TestBothBootsOfAServerAreAcknowledged: its own, and that of its maintenance, whichever of them exists.
func TestBothBootsOfAServerAreAcknowledged(t *testing.T) {
	s := newStand(t, booting(), config("maintenance", "m"))
	s.known = []string{"m", "o"}
	s.Step(t, s.relay, "s")
	if got := s.says(t, "maintenance"); got != "m" {
		t.Errorf("the one that exists says %q", got)
	}
	if err := s.Create(t.Context(), config("own", "o")); err != nil {
		t.Fatal(err)
	}
	s.Step(t, s.relay, "s")
	if got := s.says(t, "own"); got != "o" {
		t.Errorf("the other one says %q", got)
	}
}

// TestWhichBootConfigurationsARelayLooksAt: those that wait, by the Server that they name.
func TestWhichBootConfigurationsARelayLooksAt(t *testing.T) {
	for _, c := range []struct {
		obj  client.Object
		want bool
	}{
		{config("own", "a"), true}, {config("own", "a", started), false}, {config("own", ""), false}, {booting(), false},
	} {
		if got := waits(c.obj); got != c.want {
			t.Errorf("%T %v waits: %t", c.obj, c.obj.GetAnnotations(), got)
		}
	}
	nameless := config("own", "a")
	nameless.Spec.ServerRef.Name = ""
	want := []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "s"}}}
	for _, c := range []struct {
		obj  client.Object
		want []reconcile.Request
	}{{config("own", "a"), want}, {nameless, nil}, {booting(), nil}} {
		if diff := cmp.Diff(c.want, ofConfig(t.Context(), c.obj)); diff != "" {
			t.Error(diff)
		}
	}
}

// raise raises an alarm with that message, a second after the one before.
func (s *stand) raise(message string) alarm.Alarm {
	s.Clock.Step(time.Second)
	a := alarm.Alarm{Reason: alarm.ReasonStranger, Message: message, Attempt: "a", At: s.Clock.Now()}
	s.relay.Alarms.Raise("s", a)
	return a
}

func (s *stand) alarm(t *testing.T) (alarm.Alarm, bool) {
	t.Helper()
	server := controllertest.Read[metalv1.Server](t, s.API, "s")
	if server.Annotations["other"] != "x" {
		t.Errorf("other annotations are lost: %v", server.Annotations)
	}
	return AlarmOf(server)
}

// TestAnAlarmIsWrittenAndTakenDown, the newest one each time.
func TestAnAlarmIsWrittenAndTakenDown(t *testing.T) {
	s := newStand(t, booting())
	s.Step(t, s.relay, "s")
	if _, raised := s.alarm(t); raised || len(s.Writes("")) > 0 {
		t.Errorf("without an alarm: %v", s.Writes(""))
	}
	for _, message := range []string{"first", `second: "quoted" <&>`} {
		want := s.raise(message)
		for range 2 {
			s.Step(t, s.relay, "s")
		}
		got, raised := s.alarm(t)
		if !raised || !got.At.Equal(want.At) {
			t.Fatalf("it says %+v, %t; want %+v", got, raised, want)
		}
		if got.At = want.At; got != want {
			t.Errorf("it says %+v, want %+v", got, want)
		}
		if up, raised := s.relay.Alarms.Of("s"); raised {
			t.Errorf("%+v is still up", up)
		}
	}
	if got := len(s.Writes("Server")); got != 2 || len(s.woken) != 2 {
		t.Errorf("%d writes and %d wakes for two alarms", got, len(s.woken))
	}
}

// TestAnAlarmStaysUntilItIsWritten: one that cannot be written, and one that comes while another is written.
func TestAnAlarmStaysUntilItIsWritten(t *testing.T) {
	s := newStand(t, booting())
	s.raise("first")
	s.Fail = func(verb string, _ runtime.Object) error {
		if verb == controllertest.Patch {
			return errors.New("away")
		}
		return nil
	}
	if _, err := s.relay.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "s"}}); err == nil {
		t.Error("the failure is not told")
	}
	if _, up := s.relay.Alarms.Of("s"); !up {
		t.Fatal("an alarm that was not written is lost")
	}
	var newer alarm.Alarm
	s.Fail = func(verb string, _ runtime.Object) error {
		if verb == controllertest.Patch && newer.Reason == "" {
			newer = s.raise("newer")
		}
		return nil
	}
	s.Step(t, s.relay, "s")
	if up, raised := s.relay.Alarms.Of("s"); !raised || up != newer {
		t.Fatalf("%+v is up, and %+v came", up, newer)
	}
	s.Step(t, s.relay, "s")
	if got, _ := s.alarm(t); got.Message != "newer" {
		t.Errorf("it says %+v", got)
	}
}

// TestEarlierAlarmsAreLookedAt: one that was raised while nobody led woke nobody.
func TestEarlierAlarmsAreLookedAt(t *testing.T) {
	s := newStand(t, booting())
	s.raise("first")
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := errors.Join(s.relay.begin(t.Context()), s.relay.Wake.Start(t.Context(), queue)); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 1 {
		t.Fatalf("%d Servers are looked at", queue.Len())
	}
	if got, _ := queue.Get(); got.Name != "s" || got.Namespace != "" {
		t.Errorf("%v is looked at", got)
	}
}

// TestAlarmsOfServersThatAreGoneOrHere: nobody can be told of the first, and the controller of the second is in this process.
func TestAlarmsOfServersThatAreGoneOrHere(t *testing.T) {
	s := newStand(t)
	s.raise("first")
	s.Step(t, s.relay, "s")
	if _, up := s.relay.Alarms.Of("s"); up {
		t.Error("the alarm of a Server that is gone is kept")
	}
	s = newStand(t, booting())
	s.here = true
	want := s.raise("first")
	s.Step(t, s.relay, "s")
	if up, _ := s.relay.Alarms.Of("s"); up != want || len(s.Writes("")) > 0 {
		t.Errorf("of a Server that is looked after here: %+v is up, writes %v", up, s.Writes(""))
	}
}

// TestWhatIsNoAlarm: a person may have written it.
func TestWhatIsNoAlarm(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `"x"`, "{}", `{"message": "m"}`, `{"reason": 1}`, `{"reason": "R", "at": "yesterday"}`} {
		server := booting()
		server.Annotations[metalv1.AnnotationBootAlarm] = text
		if got, raised := AlarmOf(server); raised {
			t.Errorf("%s is %+v", text, got)
		}
	}
	server := booting()
	server.Annotations[metalv1.AnnotationBootAlarm] = `{"reason": "R", "message": "m", "later": true}`
	if got, raised := AlarmOf(server); !raised || got != (alarm.Alarm{Reason: "R", Message: "m"}) {
		t.Errorf("one with what later versions add: %+v, %t", got, raised)
	}
}
