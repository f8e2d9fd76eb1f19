package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// maxAdminBody bounds what the admin endpoint reads.
const maxAdminBody = 64 << 10

// StartAdmin serves the admin endpoint until Stop: faults, passwords, what BMCs counted,
// what machines booted and what is on their disks, in JSON. It has no passwords, so it is on
// loopback addresses only.
func (r *Rack) StartAdmin(ctx context.Context, address string) (netip.AddrPort, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("admin address %q: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return netip.AddrPort{}, fmt.Errorf("admin address %q: want a loopback address", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("admin address %q: %w", address, err)
	}
	server := &http.Server{Handler: r.AdminHandler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	r.spawn(func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			r.opts.Logger.Error(err, "admin listener ended")
		}
	})
	r.spawn(func() {
		<-r.ctx.Done()
		_ = server.Close()
	})
	return addrPort(l.Addr()), nil
}

// AdminHandler is the admin endpoint without its listener.
func (r *Rack) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /kinds", r.admin(func(*http.Request) (any, error) { return fault.Kinds(), nil }))
	mux.HandleFunc("GET /faults", r.admin(func(*http.Request) (any, error) { return r.Faults(), nil }))
	mux.HandleFunc("POST /faults", r.admin(r.adminSet))
	mux.HandleFunc("DELETE /faults", r.admin(func(*http.Request) (any, error) { return object{"cleared": r.ClearFaults()}, nil }))
	mux.HandleFunc("DELETE /faults/{id}", r.admin(func(req *http.Request) (any, error) {
		if err := r.ClearFault(req.PathValue("id")); err != nil {
			return nil, &adminError{http.StatusNotFound, err}
		}
		return nil, nil
	}))
	mux.HandleFunc("GET /stats", r.admin(func(*http.Request) (any, error) { return r.TotalStats(), nil }))
	mux.HandleFunc("GET /bmcs", r.admin(func(*http.Request) (any, error) { return r.BMCs(), nil }))
	mux.HandleFunc("GET /bmcs/{number}/stats", r.admin(r.ofBMC(func(i int, _ *http.Request) (any, error) { return r.Stats(i), nil })))
	mux.HandleFunc("GET /bmcs/{number}/boots", r.admin(r.ofBMC(r.adminBoots)))
	mux.HandleFunc("GET /bmcs/{number}/disks", r.admin(r.ofBMC(r.adminDisks)))
	mux.HandleFunc("POST /bmcs/{number}/password", r.admin(r.ofBMC(r.adminPassword)))
	mux.HandleFunc("POST /bmcs/{number}/metric-report", r.admin(r.ofBMC(func(i int, _ *http.Request) (any, error) {
		return object{"subscribers": r.SendMetricReport(i)}, nil
	})))
	return mux
}

// ClearFaults ends all faults that InjectFault began, and tells which.
func (r *Rack) ClearFaults() []string {
	cleared := []string{}
	for _, e := range r.Faults() {
		if r.ClearFault(e.ID) == nil {
			cleared = append(cleared, e.ID)
		}
	}
	return cleared
}

// TotalStats adds up what all BMCs counted; of what is a maximum it is the largest.
func (r *Rack) TotalStats() Stats {
	var t Stats
	for i := range r.bmcs {
		s := r.Stats(i)
		t.Requests += s.Requests
		t.Logins += s.Logins
		t.BasicLogins += s.BasicLogins
		t.Refused += s.Refused
		t.WrongPasswords += s.WrongPasswords
		t.MaxRequests = max(t.MaxRequests, s.MaxRequests)
		t.MaxConnections = max(t.MaxConnections, s.MaxConnections)
		t.Connections += s.Connections
		t.OpenConnections += s.OpenConnections
		t.OldSessions += s.OldSessions
		t.EventsDelivered += s.EventsDelivered
		t.EventsLost += s.EventsLost
	}
	return t
}

// adminError is an error with its HTTP status.
type adminError struct {
	status int
	err    error
}

func (e *adminError) Error() string { return e.err.Error() }
func (e *adminError) Unwrap() error { return e.err }

func refuseInput(err error) error { return &adminError{http.StatusBadRequest, err} }

// admin answers in JSON. Requests that a web page could make a browser send are refused:
// those to another name than loopback's, and those that change something without saying
// that they are JSON.
func (r *Rack) admin(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		req.Body = http.MaxBytesReader(w, req.Body, maxAdminBody)
		out, err := any(nil), fromHere(req)
		if err == nil {
			out, err = do(req)
		}
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if known := (*adminError)(nil); errors.As(err, &known) {
				status = known.status
			}
			out = object{"error": err.Error()}
		}
		if out == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(out)
	}
}

func fromHere(req *http.Request) error {
	host := req.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return &adminError{http.StatusForbidden, fmt.Errorf("host %q is not loopback", host)}
	}
	if req.Method != http.MethodPost {
		return nil
	}
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &adminError{http.StatusUnsupportedMediaType, errors.New("want Content-Type: application/json")}
	}
	return nil
}

// readJSON refuses what it does not know: a misspelt key would be another fault.
func readJSON(req *http.Request, into any) error {
	decoder := json.NewDecoder(req.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuseInput(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuseInput(errors.New("more than one JSON value"))
	}
	return nil
}

func (r *Rack) adminSet(req *http.Request) (any, error) {
	var s fault.Spec
	if err := readJSON(req, &s); err != nil {
		return nil, err
	}
	e, err := r.InjectFault(s)
	if err != nil {
		return nil, refuseInput(err)
	}
	return e, nil
}

func (r *Rack) ofBMC(do func(i int, req *http.Request) (any, error)) func(*http.Request) (any, error) {
	return func(req *http.Request) (any, error) {
		n, err := strconv.Atoi(req.PathValue("number"))
		if err != nil || n < 1 || n > len(r.bmcs) {
			return nil, &adminError{http.StatusNotFound, fmt.Errorf("BMC %q: there is none", req.PathValue("number"))}
		}
		return do(n-1, req)
	}
}

// adminBoots is what the machines behind a BMC remember, by UUID.
func (r *Rack) adminBoots(i int, _ *http.Request) (any, error) {
	out := map[string][]BootRecord{}
	for _, m := range r.Machines(i) {
		out[m.UUID()] = m.Record()
	}
	return out, nil
}

// diskState is a disk as the admin endpoint shows it.
type diskState struct {
	Path   string  `json:"path"`
	Serial string  `json:"serial"`
	Size   int64   `json:"sizeBytes"`
	Traces []Trace `json:"traces"`
	Empty  bool    `json:"empty"`
	Erases int     `json:"erases"`
}

// adminDisks is what is on the disks of the machines behind a BMC, by UUID.
func (r *Rack) adminDisks(i int, _ *http.Request) (any, error) {
	if r.opts.Computers != nil {
		return nil, &adminError{http.StatusNotFound, errors.New("the disks of these machines are files in the data directory")}
	}
	out := map[string][]diskState{}
	for _, m := range r.Machines(i) {
		for _, d := range m.Disks() {
			traces := append([]Trace{}, d.Traces()...)
			out[m.UUID()] = append(out[m.UUID()], diskState{d.Path(), d.Serial(), d.Size(), traces, d.Empty(), d.Erases()})
		}
	}
	return out, nil
}

func (r *Rack) adminPassword(i int, req *http.Request) (any, error) {
	var body struct {
		Password string `json:"password"`
	}
	if err := readJSON(req, &body); err != nil {
		return nil, err
	}
	if body.Password == "" {
		return nil, refuseInput(errors.New("password: is empty"))
	}
	r.SetPassword(i, body.Password)
	return nil, nil
}
