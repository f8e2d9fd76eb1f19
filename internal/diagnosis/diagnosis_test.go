package diagnosis_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootattempt"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/diagnosis"
	"github.com/farrier-dev/farrier/internal/diagnosis/faults"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// TestTheFirstTwoLinesNameTheCause of every fault that is known to happen often, and what to do.
func TestTheFirstTwoLinesNameTheCause(t *testing.T) {
	for name, c := range faults.All {
		t.Run(name, func(t *testing.T) {
			a := diagnosis.Explain(c.Facts)
			var out bytes.Buffer
			if err := a.Print(&out, time.UTC); err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", out.String())
			lines := strings.SplitN(out.String(), "\n", 3)
			for _, want := range c.Says {
				if !strings.Contains(lines[0]+"\n"+lines[1], want) {
					t.Errorf("the first two lines do not say %q", want)
				}
			}
			if a.Reason != c.Reason || a.Standing != c.Standing {
				t.Errorf("%s, %s, want %s, %s", a.Reason, a.Standing, c.Reason, c.Standing)
			}
			if strings.ContainsAny(lines[0]+lines[1], "{}") {
				t.Error("a placeholder is left")
			}
		})
	}
}

// TestAProbeThatCannotBeBootedIsNotToldToSwitchOn, though its boot is ordered as soon as it is prepared: its boot configuration says what is wrong.
func TestAProbeThatCannotBeBootedIsNotToldToSwitchOn(t *testing.T) {
	ordered := func(state metalv1.ServerBootConfigurationState, conditions ...metav1.Condition) *diagnosis.Facts {
		return faults.Change(faults.Booting(25*time.Minute), func(f *diagnosis.Facts) {
			f.OfProbe, f.Config.Namespace, f.Config.Name = true, faults.Manager, f.Server.Name
			a := bootattempt.Of(f.Config)
			a.Started = nil
			f.Config.Annotations[metalv1.AnnotationBootAttempt] = a.String()
			f.Config.Status.State, f.Config.Status.Conditions, f.Boots = state, conditions, nil
		})
	}
	if a := diagnosis.Explain(ordered(metalv1.ServerBootConfigurationStateReady)); a.Reason != diagnosis.ReasonNotOn && a.Reason != diagnosis.ReasonNotOff {
		t.Errorf("%+v", a)
	}
	no := faults.Says(metalv1.ConditionReady, metav1.ConditionFalse, "Error", "Secret \"s-ssh\" does not exist")
	if a := diagnosis.Explain(ordered(metalv1.ServerBootConfigurationStateError, no...)); !strings.Contains(a.Cause, "does not exist") {
		t.Errorf("%+v", a)
	}
}

// TestWhatOutlivesTheBootServer: conditions prove steps that its memory does not have any more, and an earlier attempt's prove nothing.
func TestWhatOutlivesTheBootServer(t *testing.T) {
	fetched := func(attempt string) *diagnosis.Facts {
		return faults.Change(faults.Booting(25*time.Minute), func(f *diagnosis.Facts) {
			f.Boots, f.Config.Status.DeliveryAttempt = nil, attempt
			f.Config.Status.Conditions = faults.Says(bootv1.ConditionKernelFetched, metav1.ConditionTrue, "Delivered", "")
		})
	}
	if a := diagnosis.Explain(fetched("b007")); a.Reason != diagnosis.ReasonNoIgnition || a.Missing.Overdue != diagnosis.Duration(2*time.Minute) {
		t.Errorf("%+v", a)
	}
	if a := diagnosis.Explain(fetched("0ther")); a.Reason != diagnosis.ReasonNoRequest {
		t.Errorf("of another attempt: %+v", a)
	}
}

// TestParkedSince: whoever asks about a parked server is told since when, if Farrier has noted it.
func TestParkedSince(t *testing.T) {
	for noted, want := range map[string]string{"2026-03-01T10:30:00Z": "It was parked 1h30m ago, at 2026-03-01 10:30:00 UTC", "": "", "yesterday": ""} {
		a := diagnosis.Explain(faults.Rack(func(f *diagnosis.Facts) {
			f.Server.Annotations = map[string]string{metalv1.AnnotationParked: metalv1.AnnotationTrue, metalv1.AnnotationParkedSince: noted}
		}))
		if got := strings.Join(a.Evidence, ""); got != want || a.Since.IsZero() != (want == "") {
			t.Errorf("%q: %q, since %s", noted, got, a.Since)
		}
	}
}

// TestWhatOthersWroteIsHarmless: a registry, a BMC and a machine may say what does something to a terminal.
func TestWhatOthersWroteIsHarmless(t *testing.T) {
	evil := "\x1b]0;evil\x07\u202etxt\n"
	f := faults.Rack(func(f *diagnosis.Facts) {
		f.BMC.Status.Conditions = faults.Says(metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonConnectionFailed, evil)
		f.BMC.Spec.Access.IP = evil
		f.Boots = []bootview.Boot{{Attempt: evil, Steps: []bootview.Step{{Kind: bootview.DeliveryKind(evil), What: evil, Addr: evil}}}}
		f.NotRead = []string{evil}
	})
	var out bytes.Buffer
	a := diagnosis.Explain(f)
	if err := a.Print(&out, time.UTC); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Contains(text, "\ntxt") {
		t.Errorf("%q", text)
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "8s": 8*time.Second + time.Millisecond, "4m20s": 4*time.Minute + 20*time.Second, "4m": 4 * time.Minute, "10m": 10 * time.Minute,
		"1h5m": time.Hour + 5*time.Minute + 7*time.Second, "20h0m": 20 * time.Hour, "3 days": 80 * time.Hour,
	} {
		if got := diagnosis.Duration(d).String(); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestWhatTheConsolePrintedIsEvidence: the last lines of the present boot, and none of another.
func TestWhatTheConsolePrintedIsEvidence(t *testing.T) {
	f := faults.Booting(25*time.Minute, bootview.DeliveredScript, bootview.DeliveredArtifact)
	for i, attempt := range []string{"0ld", "b007", "b007", "b007", "b007"} {
		f.Logged = append(f.Logged, logbook.Entry{Kind: logbook.KindConsole, Attempt: attempt, Time: faults.Noon.Add(time.Duration(i-10) * time.Minute), Detail: strings.Repeat("!", i)})
	}
	a := diagnosis.Explain(f)
	var got []string
	for _, line := range a.Evidence {
		if strings.Contains(line, "its console printed") {
			got = append(got, line)
		}
	}
	want := []string{"8m ago, its console printed: !!", "7m ago, its console printed: !!!", "6m ago, its console printed: !!!!"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
