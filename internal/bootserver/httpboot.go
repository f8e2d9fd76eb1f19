package bootserver

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// forwardedFor is the header in which DHCP servers and proxies say whom they ask for.
const forwardedFor = "X-Forwarded-For"

// serveHTTPBoot answers /httpboot: what UEFI firmware is to boot. DHCP servers call
// it for every packet they see.
func (s *Server) serveHTTPBoot(w http.ResponseWriter, r *http.Request, _ string) {
	from := caller(r)
	var forwarded []string
	var m *bootview.Machine
	var status bootview.Status
	if s.isForwarder(from, r) {
		// Its own address never stands for a machine.
		forwarded = r.Header[forwardedFor]
		m, status = s.firstMatch(forwarded)
	} else {
		m, status = s.view.ByIP(from)
	}
	if status == bootview.Unsynced || status == bootview.Conflict {
		s.refuseLookup(w, r, m, status)
		return
	}
	uki, uuid, known := s.firmwareFile(m, status, s.cfg.Sites.OfHost(r.Host), family(from, forwarded))
	if !known && uki.isZero() {
		refuse(w, r, http.StatusInternalServerError, textNoDefaultUKI)
		s.unknown(r, "", firstMAC(forwarded), "")
		return
	}
	buf := buffers.Get().(*[]byte)
	body := append((*buf)[:0], `{"ClientIPs":`...)
	body = appendClients(body, callerText(r), forwarded)
	body = append(body, `,"UKIURL":`...)
	body = uki.appendJSON(body)
	if known {
		body = append(body, `,"SystemUUID":`...)
		body = appendJSON(body, uuid)
	}
	body = append(body, '}')
	send(w, r, http.StatusOK, typeJSON, body)
	release(buf, body)
}

// firmwareFile is what firmware boots over HTTP: the file of its machine, and of a machine that has none and is not known the default one, at a base
// of the site that it has reached.
func (s *Server) firmwareFile(m *bootview.Machine, status bootview.Status, near booturl.Bases, asked netip.Addr) (file baseURL, uuid string, known bool) {
	if status == bootview.Found && m.FileEntry() != "" {
		// It may have no URL yet, or none any more. It is not given the default then:
		// that is for machines that nobody knows, and starts their discovery.
		site := s.cfg.Sites.Of(m.Site)
		return rebase(m.FileURL(), site.Object(), site.For(asked)), m.UUID, true
	}
	return rebase(s.cfg.DefaultUKI(), s.cfg.Sites.Of("").Object(), near.For(asked)), "", false
}

// firstMatch goes through the identifiers of the header in their order. One that
// stands for several machines is passed over, but remembered: an unknown machine gets the
// default image, and this one is not unknown.
func (s *Server) firstMatch(values []string) (*bootview.Machine, bootview.Status) {
	var conflict *bootview.Machine
	for _, value := range values {
		for value != "" {
			var id string
			id, value, _ = strings.Cut(value, ",")
			m, status := s.view.ByAddress(strings.TrimSpace(id))
			switch status {
			case bootview.Found, bootview.Unsynced:
				return m, status
			case bootview.Conflict:
				conflict = m
			}
		}
	}
	switch {
	case conflict != nil:
		return conflict, bootview.Conflict
	case !s.view.Synced():
		return nil, bootview.Unsynced
	}
	return nil, bootview.Unknown
}

// family is an address of the family in which the machine boots: its own, or the first one that is named for it, for
// a DHCP server may well ask over the other family. Where MACs alone are named, it is the caller's.
func family(from netip.Addr, forwarded []string) netip.Addr {
	for _, value := range forwarded {
		for value != "" {
			var id string
			id, value, _ = strings.Cut(value, ",")
			// A MAC in groups of two is not worth the error that says that it is no address.
			if id = strings.TrimSpace(id); len(id) == len("00:00:00:00:00:00") && id[2] == id[5] {
				continue
			}
			if a, err := netip.ParseAddr(id); err == nil {
				return a
			}
		}
	}
	return from
}

// baseURL is a URL in two parts, which are put together where it is written.
type baseURL struct{ base, rest string }

// rebase puts one base of a URL in the place of another. A URL that has neither is somebody else's, and stays.
func rebase(text, from, to string) baseURL {
	if rest, ok := strings.CutPrefix(text, from); ok && from != "" && strings.HasPrefix(rest, "/") {
		return baseURL{to, rest}
	}
	return baseURL{"", text}
}

func (u baseURL) isZero() bool { return u == baseURL{} }

func (u baseURL) String() string { return u.base + u.rest }

func (u baseURL) appendJSON(dst []byte) []byte {
	if !plain(u.base) || !plain(u.rest) {
		return appendJSON(dst, u.base+u.rest)
	}
	dst = append(dst, '"')
	dst = append(dst, u.base...)
	dst = append(dst, u.rest...)
	return append(dst, '"')
}

// isForwarder reports whether the header of this request is believed. Whoever is believed only because it is near must
// have sent one; without it speaks for itself, as machines do.
func (s *Server) isForwarder(a netip.Addr, r *http.Request) bool {
	if s.trusted(a) {
		return true
	}
	near := a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
	return s.cfg.TrustPrivateNetworks && near && len(r.Header[forwardedFor]) > 0
}

// trusted reports whether a is of a forwarder that was named.
func (s *Server) trusted(a netip.Addr) bool {
	for _, prefix := range s.cfg.TrustedForwarders {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// warnForwarders says when whole networks are believed.
func warnForwarders(log logr.Logger, prefixes []netip.Prefix) {
	for _, prefix := range prefixes {
		if !prefix.IsSingleIP() && !prefix.Addr().IsLoopback() {
			log.Info("any host on a trusted network can impersonate a machine at /httpboot", "network", prefix.String(), "flag", "--trusted-forwarders", "set", "--trusted-forwarders=none")
		}
	}
}

// appendClients appends the caller and whom it speaks for, as one JSON string.
func appendClients(dst []byte, from string, forwarded []string) []byte {
	switch len(forwarded) {
	case 0:
		return appendJSON(dst, from)
	case 1:
		if plain(from) && plain(forwarded[0]) && !strings.ContainsAny(forwarded[0], ", ") {
			dst = append(dst, '"')
			dst = append(dst, from...)
			dst = append(dst, ',')
			dst = append(dst, forwarded[0]...)
			return append(dst, '"')
		}
	}
	all := []string{from}
	for _, value := range forwarded {
		for id := range strings.SplitSeq(value, ",") {
			if id = strings.TrimSpace(id); id != "" {
				all = append(all, id)
			}
		}
	}
	return appendJSON(dst, strings.Join(all, ","))
}

// appendJSON appends s as a JSON string, without allocating for what needs no
// escaping, which is what URLs, addresses and UUIDs are.
func appendJSON(dst []byte, s string) []byte {
	if plain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil { // a string can always be marshalled
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}

// plain reports whether a JSON string may hold s as it is (RFC 8259 §7).
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
