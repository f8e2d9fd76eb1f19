package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/changes"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/logbook"
)

// PathLogbook is where the logbook of a Server, or of the machine of a UUID, is read.
const PathLogbook = "/logbook/"

// Entries is the logbook of a Server, or of the machine of a UUID.
func (s *Server) Entries(ctx context.Context, name string) ([]logbook.Entry, error) {
	subjects, err := s.subjects(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Logbook.Read(ctx, subjects...), nil
}

// logbook answers GET /logbook/{name}.
func (s *Server) logbook(w http.ResponseWriter, r *http.Request) {
	entries, err := s.Entries(r.Context(), r.PathValue("name"))
	if err != nil {
		s.Logger.Error(err, "operator request failed", "path", r.URL.Path)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	if entries == nil {
		entries = []logbook.Entry{}
	}
	body, err := json.Marshal(entries)
	if err != nil { // strings, numbers and times can always be marshalled
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // an error means that nobody listens any more
}

// subjects are what entries about a Server are written under: itself, its machine and its BMC. A Server that is gone has the first alone.
func (s *Server) subjects(ctx context.Context, name string) ([]string, error) {
	if uuid := identity.MachineUUID(name); uuid != "" {
		var servers metalv1.ServerList
		if err := s.API.List(ctx, &servers, client.MatchingFields{index.ServerByIdentity: index.MachineUUID(uuid)}); err != nil {
			return nil, fmt.Errorf("list Servers: %w", err)
		}
		subjects := []string{logbook.MachineSubject(uuid)}
		for i := range servers.Items {
			own, err := s.subjectsOf(ctx, &servers.Items[i])
			if err != nil {
				return nil, err
			}
			subjects = append(subjects, own...)
		}
		return subjects, nil
	}
	var server metalv1.Server
	err := s.API.Get(ctx, client.ObjectKey{Name: name}, &server)
	if apierrors.IsNotFound(err) {
		return []string{logbook.ServerSubject(name)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("Server %q: %w", name, err)
	}
	return s.subjectsOf(ctx, &server)
}

func (s *Server) subjectsOf(ctx context.Context, server *metalv1.Server) ([]string, error) {
	subjects := []string{logbook.ServerSubject(server.Name)}
	if uuid := identity.MachineUUID(server.Spec.SystemUUID); uuid != "" {
		subjects = append(subjects, logbook.MachineSubject(uuid))
	}
	host, port := "", int32(0)
	if inline := server.Spec.BMC; inline != nil {
		host, port = inline.Address, inline.Protocol.Port
	} else if ref := server.Spec.BMCRef; ref != nil {
		var b metalv1.BMC
		if err := s.API.Get(ctx, client.ObjectKey{Name: ref.Name}, &b); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("BMC %q: %w", ref.Name, err)
		}
		host, port = changes.HostOf(&b), b.Spec.Protocol.Port
	}
	if ref := server.Spec.ServerClaimRef; ref != nil {
		subjects = append(subjects, logbook.ClaimSubject(ref.Namespace, ref.Name))
	}
	if host = canonicalHost(host); host != "" {
		subjects = append(subjects, logbook.BMCSubject(host, int(port)))
	}
	return subjects, nil
}

// canonicalHost is a host as the connections to BMCs name it.
func canonicalHost(host string) string {
	ip, err := identity.IP(host)
	if err != nil {
		return host
	}
	return cmp.Or(ip, host)
}

// Logbook is what Farrier did to a Server, or to the machine of a UUID, and saw of it. An older Farrier has none.
func (c *Client) Logbook(ctx context.Context, name string) ([]logbook.Entry, error) {
	var entries []logbook.Entry
	_, err := c.get(ctx, PathLogbook+url.PathEscape(name), &entries)
	return entries, err
}

// BootsOf are the boots that a logbook tells of, the newest last, as far as it does: of each step the first answer.
func BootsOf(entries []logbook.Entry) []bootview.Boot {
	var boots []bootview.Boot
	for i := range entries {
		e := &entries[i]
		if e.Kind != logbook.KindBoot {
			continue
		}
		at := slices.IndexFunc(boots, func(b bootview.Boot) bool { return b.Attempt == e.Attempt })
		if at < 0 {
			boots, at = append(boots, bootview.Boot{Attempt: e.Attempt}), len(boots)
		}
		boots[at].Steps = append(boots[at].Steps, bootview.Step{
			Kind: bootview.DeliveryKind(e.What), What: e.Detail, Entry: e.Object, Addr: e.Address, Status: e.Status, Bytes: e.Bytes, First: e.Time, Last: e.Time, Count: 1,
		})
	}
	return boots
}
