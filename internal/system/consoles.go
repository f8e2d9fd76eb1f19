package system

import (
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/console"
	"github.com/farrier-dev/farrier/internal/controller/consoletarget"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// consoles has the serial consoles of servers, for as long as the term.
func (t *term) consoles(mgr ctrl.Manager) *console.Hub {
	resolver := &consoletarget.Resolver{
		Client: mgr.GetClient(), APIReader: t.controllers.uncached, Namespace: t.settings.ManagerNamespace, Fleet: t.observer(), Clock: clock.RealClock{},
	}
	return &console.Hub{Open: resolver.Open, Clock: clock.RealClock{}, Logger: t.logger.WithName("console")}
}

// observer tells what BMCs last said, of those that this process looks after.
func (t *term) observer() consoletarget.Observer {
	if t.fleet == nil {
		return &t.shards
	}
	return t.fleet
}

// recordConsoles has the consoles of machines that boot written into the logbook, if that is wanted.
func (t *term) recordConsoles(mgr ctrl.Manager, consoles *console.Hub) error {
	if !t.settings.RecordConsoles {
		return nil
	}
	recorder := &console.Recorder{Hub: consoles, Clock: clock.RealClock{}, Logger: t.logger.WithName("console"), Write: t.printed}
	t.servers.Recorded = recorder.Begin
	return mgr.Add(named("recorded consoles", recorder.Run))
}

// printed writes a line of a console into the logbook.
func (s *System) printed(l console.Line) {
	e := logbook.Entry{Subject: logbook.ServerSubject(l.Server), Time: l.Time, Kind: logbook.KindConsole, What: "console", Detail: l.Text, Attempt: l.Attempt}
	if l.Left > 0 {
		e.Detail = fmt.Sprintf("(%d lines left out) %s", l.Left, l.Text)
	}
	s.logbook.Write(e)
}
