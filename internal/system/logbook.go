package system

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// newLogbook makes the logbook, and has the steps of boots written into it.
func (s *System) newLogbook() {
	s.logbook = logbook.New(logbook.Options{Directory: s.settings.LogbookDirectory, Clock: clock.RealClock{}, Logger: s.logger.WithName("logbook")})
	s.history.OnStep = s.stepped
}

// keepLogbook keeps it on disk until ctx ends.
func (s *System) keepLogbook(ctx context.Context) error {
	if err := metrics.Registry.Register(s.logbook); err != nil {
		return fmt.Errorf("metrics of the logbook: %w", err)
	}
	defer metrics.Registry.Unregister(s.logbook)
	return s.logbook.Run(ctx)
}

// stepped writes the first answer of a step of a boot into the logbook.
func (s *System) stepped(d bootview.Delivery) {
	s.logbook.Write(logbook.Entry{
		Subject: logbook.MachineSubject(d.UUID), Time: d.Time, Kind: logbook.KindBoot, What: string(d.Kind), Object: d.Entry, Detail: d.What,
		Attempt: d.Attempt, Address: d.Addr, Status: d.Status, Bytes: d.Bytes, Bad: d.Status >= http.StatusBadRequest,
	})
}

// sent writes what a BMC was told into the logbook. What only reads, and what is about sessions, is not in it.
func (s *System) sent(r bmc.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Session {
		return
	}
	s.logbook.Write(logbook.Entry{
		Subject: logbook.BMCSubject(r.Host, r.Port), Kind: logbook.KindCommand, What: "BMC command", Detail: r.Op, Reason: string(r.Kind), Took: r.Duration,
		Status: r.Status, Bad: r.Kind != "",
	})
}
