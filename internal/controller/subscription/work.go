package subscription

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// channels and what is sent to each.
var channels = []struct {
	name   bmcevents.Channel
	format bmc.EventFormat
}{
	{bmcevents.Alerts, bmc.FormatEvent},
	{bmcevents.MetricReports, bmc.FormatMetricReport},
}

// subscriptionContext comes back in every event. It tells people who look at a BMC whose
// subscription it is; nothing here relies on it.
const subscriptionContext = "farrier"

// work is what a job does at one BMC.
type work struct {
	paths bmcevents.Paths
	uid   string
	// base is the URL of the receiver; empty: nothing shall be subscribed.
	base string
	// knows reports whether a UID is that of another BMC object: two may name the same BMC.
	knows func(uid string) bool

	// Set by run; read after the job has ended. Unless it is complete, the BMC did not say how
	// things are.
	complete bool
	links    map[bmcevents.Channel]string
	refused  map[bmcevents.Channel]error
}

// run makes what is at the BMC what it should be. Its error is about the BMC or the whole of
// its event service; what it says to one channel is in refused.
func (w *work) run(ctx context.Context, s fleet.Services) error {
	w.links, w.refused = map[bmcevents.Channel]string{}, map[bmcevents.Channel]error{}
	there, err := s.Subscriptions(ctx, func(destination string) bool {
		_, _, ours := w.paths.Parse(destination)
		return ours
	})
	if err != nil {
		w.complete = !bmc.Unreachable(err)
		return err
	}
	kept, superfluous := w.sort(there)
	var failed error
	for _, old := range superfluous { // first, for a BMC has room for few
		if err := s.Unsubscribe(ctx, old); bmc.Unreachable(err) {
			return err
		} else if err != nil && failed == nil {
			failed = err
		}
	}
	for _, c := range channels {
		if w.base == "" {
			break
		}
		if uri, ok := kept[c.name]; ok {
			w.links[c.name] = uri
			continue
		}
		made, err := s.Subscribe(ctx, bmc.Subscription{
			Destination: w.paths.Destination(w.base, c.name, w.uid), Context: subscriptionContext, Format: c.format,
		})
		switch {
		case bmc.Unreachable(err):
			return err
		case err != nil:
			w.refused[c.name] = err
		default:
			w.links[c.name] = made.URI
		}
	}
	w.complete = true
	return failed
}

// failed reports whether trying again soon might help.
func (w *work) failed(err error) bool {
	failure := func(err error) bool { return err != nil && !notOffered(err) }
	for _, refusal := range w.refused {
		if failure(refusal) {
			return true
		}
	}
	return failure(err)
}

// sort tells what is as it should be from what has to go: repetitions, those that the BMC has given up,
// those to an earlier address, and those of objects that are no more.
func (w *work) sort(there []bmc.Subscription) (kept map[bmcevents.Channel]string, superfluous []bmc.Subscription) {
	kept = map[bmcevents.Channel]string{}
	for _, s := range there {
		uid, channel, ours := w.paths.Parse(s.Destination.Reveal())
		switch {
		case !ours, uid != w.uid && w.knows(uid):
			continue
		case w.base == "", uid != w.uid, s.State == "Disabled", kept[channel] != "",
			!same(s.Destination, w.paths.Destination(w.base, channel, uid)):
			superfluous = append(superfluous, s)
		default:
			kept[channel] = s.URI
		}
	}
	return kept, superfluous
}

// same compares destinations as URLs: some BMCs write the port of the scheme, or the host in lower case.
func same(a, b bmc.Secret) bool {
	u, errU := url.Parse(a.Reveal())
	v, errV := url.Parse(b.Reveal())
	return errU == nil && errV == nil && u.Path == v.Path && u.Scheme == v.Scheme &&
		strings.EqualFold(u.Hostname(), v.Hostname()) && port(u) == port(v)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// notOffered says that an error means that the BMC has no such thing, which is no failure.
func notOffered(err error) bool {
	if bmc.KindOf(err) == bmc.KindUnsupported {
		return true
	}
	e, ok := errors.AsType[*bmc.Error](err)
	return ok && e.StatusCode == http.StatusNotFound
}
