package scenario

import (
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
)

func TestDisksWiped(t *testing.T) {
	for name, c := range map[string]struct {
		outcome machinerecord.Outcome
		left    []string
		want    string // in the error; empty: there is none
	}{
		"clean":         {machinerecord.Clean, nil, ""},
		"not clean":     {machinerecord.NotClean, nil, "Server sim-0001-system-0: NotClean; but it is not in Error"},
		"a false claim": {machinerecord.Clean, []string{"tenant data"}, "the record says that disk S1 is ok, but it still contains tenant data"},
	} {
		t.Run(name, func(t *testing.T) {
			s, sys := rack(t, 1, 1)
			sys.outcome, sys.left = c.outcome, c.left
			for i := range s.all {
				if s.all[i].name == stepWiped {
					s.all[i].budget /= 100 // of a real clock: contexts know no other
				}
			}
			err := s.Run(t.Context())
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %s", err, c.want)
			}
			if got := s.Result(err).Claims[0].Cleanup; got == nil || len(got.Disks) != 1 || got.Disks[0].Serial != "S1" {
				t.Errorf("cleanup %+v", got)
			}
		})
	}
}
