package verb

import (
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestObjectsOfAnInstallation: what a verb makes for a server belongs to the installation of the server, and a BMCSecret to that of its BMC. Nothing else
// of their labels is passed on.
func TestObjectsOfAnInstallation(t *testing.T) {
	labels := map[string]string{"rack": "r1", metalv1.LabelWatchFilter: "hall-1"}
	free := server("node", metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	free.Labels = labels
	target := Target{API: fakeAPI(t, free), Namespace: "team", Server: "node"}
	wiped, err := Wipe(t.Context(), target, "")
	if err != nil {
		t.Fatal(err)
	}
	maintained, err := Maintain(t.Context(), target, Maintaining{})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		orders        []Order
		filter, racks int
	}{
		"wipe":     {wiped, 1, 0},
		"maintain": {maintained, 1, 0},
		"claim":    {Claim(Claiming{Namespace: "team", Name: "web", Labels: labels}), 1, 1},
		"add bmc":  {AddBMC(Adding{Name: "node", Labels: labels}), 2, 1},
	} {
		text := strings.Join(c.orders[0].Kubectl, "\n")
		if n := strings.Count(text, metalv1.LabelWatchFilter+": hall-1"); n != c.filter {
			t.Errorf("%s: %d objects with the filter, want %d:\n%s", what, n, c.filter, text)
		}
		if n := strings.Count(text, "rack: r1"); n != c.racks {
			t.Errorf("%s: %d objects with the other label, want %d:\n%s", what, n, c.racks, text)
		}
	}
}
