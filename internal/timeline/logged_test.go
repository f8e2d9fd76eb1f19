package timeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/operator"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// TestTheLogbookAddsWhatIsNotKnownElsewhere: commands, earlier states and conditions, and boots that the boot server has forgotten; and nothing twice.
func TestTheLogbookAddsWhatIsNotKnownElsewhere(t *testing.T) {
	entries := []logbook.Entry{
		{Time: after(time.Second), Kind: logbook.KindCommand, What: "BMC command", Detail: "POST /Reset", Status: 204, Took: 1500 * time.Millisecond},
		{Time: after(2 * time.Second), Kind: logbook.KindCommand, What: "BMC command", Detail: "PATCH /Boot", Reason: "Timeout", Took: 10 * time.Second, Bad: true},
		{Time: after(3 * time.Second), Kind: logbook.KindState, What: "state Discovery", Object: "Server", Detail: "was Initial"},
		{Time: after(9 * time.Second), Kind: logbook.KindCondition, What: "Discovered", Object: "Server", Reason: "ReportStored", Detail: "The report is on record"}, // status says so, too
		{Time: after(4 * time.Second), Kind: logbook.KindCondition, What: "not Discovered", Object: "Server", Reason: "WaitingForReport", Detail: "Waiting"},
		{Time: after(4 * time.Second), Kind: logbook.KindCondition, What: "KernelFetched", Object: "Server", Reason: "Delivered"},
		{Time: after(5 * time.Second), Kind: logbook.KindBoot, What: "Chainload", Attempt: "d15c", Address: "10.0.0.7", Status: 200}, // remembered
		{Time: after(-time.Hour), Kind: logbook.KindBoot, What: "Artifact", Detail: "kernel", Attempt: "0ld", Address: "10.0.0.7", Status: 200, Bytes: 1024},
		{Time: after(6 * time.Second), Kind: logbook.KindConsole, What: "console", Detail: "Kernel panic - not syncing: no working init found", Attempt: "d15c"},
		{Time: after(-time.Hour), Kind: "newer", What: "?"},
	}
	server, objects := life(t)
	source := Source{
		API: reader{controllertest.NewAPI(t, objects...), ""}, Namespace: "farrier-system",
		Boots: func(context.Context, string) (operator.Boots, error) { return requests(), nil },
	}
	before, err := source.Read(t.Context(), server, uuid)
	if err != nil {
		t.Fatal(err)
	}
	source.Logbook = func(_ context.Context, name string) ([]logbook.Entry, error) {
		if name != server.Name {
			t.Errorf("asked for %q", name)
		}
		return entries, nil
	}
	told, err := source.Read(t.Context(), server, uuid)
	if err != nil {
		t.Fatal(err)
	}
	text := printed(t, &Printer{}, told)
	for _, line := range []string{
		"12:00:01.000   BMC command             POST /Reset: 204 No Content in 1.5s\n", "! BMC command             PATCH /Boot: no answer (Timeout) in 10s\n",
		"12:00:06.000   console                 Kernel panic - not syncing: no working init found\n",
		"12:00:03.000   state Discovery         Server: was Initial\n", "not Discovered          Server: WaitingForReport, Waiting\n", "11:00:00.000   kernel                  200   1.0 KiB  10.0.0.7\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("is not told: %q\n%s", line, text)
		}
	}
	if added := len(told.Entries) - len(before.Entries); added != 6 {
		t.Errorf("%d more entries", added)
	}
	source.Logbook = func(context.Context, string) ([]logbook.Entry, error) { return nil, errors.New("away") }
	told, err = source.Read(t.Context(), server, uuid)
	if err != nil || !slices.ContainsFunc(told.Missing, func(m string) bool { return strings.Contains(m, "the logbook: away") }) {
		t.Errorf("%v, %v", err, told.Missing)
	}
}
