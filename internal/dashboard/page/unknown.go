package page

import (
	"context"
	"time"

	"github.com/farrier-dev/farrier/internal/controller/operator"
)

type unknownPage struct {
	Now      time.Time
	Machines []operator.UnknownMachine
	More     int
}

// mostMachines is how many unknown machines are shown.
const mostMachines = 250

// Unknown lists the machines that asked for a boot and got nothing.
func Unknown(ctx context.Context, s Source) (View, error) {
	machines, err := s.unknown(ctx)
	if err != nil {
		return View{}, err
	}
	shown := machines[:min(len(machines), mostMachines)]
	return view("Unknown machines", "unknown", "unknown", unknownPage{s.Now, shown, len(machines) - len(shown)}), nil
}
