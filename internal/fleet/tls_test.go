package fleet_test

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// Over https, certificates are verified: a BMC whose certificate is not good, for whatever reason,
// is not given the password, and its neighbour is looked after.
func TestCertificates(t *testing.T) {
	values := []string{"alert", "expired", "name", "authority", "self-signed"}
	kinds := []bmc.Kind{bmc.KindConnection, bmc.KindUntrusted, bmc.KindUntrusted, bmc.KindUntrusted, bmc.KindUntrusted}
	o := sim.Options{Servers: len(values) + 1, Scheme: "https", Username: "admin", Password: marker, Seed: 1, BootURL: func() string { return "http://127.0.0.1:1/ipxe/" }}
	for i, v := range values {
		o.Faults = append(o.Faults, fault.Spec{Kind: fault.TLSFailure, BMCs: []int{i + 1}, Value: v})
	}
	r, err := sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.WithoutCancel(t.Context())) })
	options := quick
	options.RootCAs = x509.NewCertPool()
	options.RootCAs.AppendCertsFromPEM(r.CABundle())
	f := run(t, options)
	var keys []fleet.Key
	for _, info := range r.BMCs() {
		e := bmc.Endpoint{Scheme: "https", Host: info.IP.String(), Port: info.Port}
		keys = append(keys, f.Ensure(fleet.Spec{Endpoint: e, Credentials: credentials(marker)}))
	}
	f.until(keys[len(values)], "the one with a good certificate", known)
	for i, v := range values {
		o := f.until(keys[i], v, func(o fleet.Observation) bool { return o.Err != nil })
		if s := r.Stats(i); bmc.KindOf(o.Err) != kinds[i] || s.Requests != 0 {
			t.Errorf("%s: %v, %d requests", v, o.Err, s.Requests)
		}
		if shown := refusedCertificate(o); (shown == "") != (kinds[i] == bmc.KindConnection) {
			t.Errorf("%s: the fingerprint that was shown is %q", v, shown)
		}
	}
	for _, e := range r.Faults() {
		if err := r.ClearFault(e.ID); err != nil {
			t.Error(err)
		}
	}
	for i, key := range keys {
		f.until(key, "recovery", known)
		if s := r.Stats(i); s.Logins != 1 || s.MaxConnections != 1 {
			t.Errorf("BMC %d: %+v", i, s)
		}
	}
}

// refusedCertificate is the fingerprint of the certificate that a BMC was refused for.
func refusedCertificate(o fleet.Observation) string {
	if e, ok := errors.AsType[*bmc.Error](o.Err); ok {
		return e.Certificate
	}
	return ""
}

// Another accepted certificate counts at once, however long the BMC would have been left alone, and ends the connection to who was trusted before.
func TestAnAcceptedCertificateCountsAtOnce(t *testing.T) {
	r, err := sim.Start(t.Context(), sim.Options{
		Servers: 1, Scheme: "https", Username: "admin", Password: marker, Seed: 1, BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
		Faults: []fault.Spec{{Kind: fault.TLSFailure, BMCs: []int{1}, Value: "self-signed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.WithoutCancel(t.Context())) })
	f := run(t, fleet.Options{PollInterval: time.Hour, FastPoll: time.Hour, MaxBackoff: time.Hour, IdleTimeout: time.Hour, RequestTimeout: 30 * time.Second})
	info := r.BMCs()[0]
	accept := func(c bmc.AcceptedCertificate) fleet.Key {
		return f.Ensure(fleet.Spec{Endpoint: bmc.Endpoint{Scheme: "https", Host: info.IP.String(), Port: info.Port}, Credentials: credentials(marker), Certificate: c})
	}
	refused := func(o fleet.Observation) bool { return bmc.KindOf(o.Err) == bmc.KindUntrusted }
	key := accept(bmc.AcceptedCertificate{})
	o := f.until(key, "refused", refused)
	shown := refusedCertificate(o)
	mine := bmc.AcceptCertificate(shown)
	if mine.String() != shown || !o.Certificate.IsZero() {
		t.Fatalf("shown %q", shown)
	}
	other := bmc.AcceptCertificate(strings.Repeat("AB", 32))
	accept(mine)
	f.until(key, "accepted", func(o fleet.Observation) bool { return known(o) && o.Certificate == mine })
	stats := r.Stats(0)
	if stats.Logins != 1 || stats.OpenConnections != 1 {
		t.Errorf("%+v", stats)
	}
	accept(other)
	o = f.until(key, "refused again", refused)
	if refusedCertificate(o) != shown || o.Certificate != other {
		t.Errorf("%#v", o.Err)
	}
	eventually(t, "no connection is left", func() bool { return r.Stats(0).OpenConnections == 0 })
	if got := r.Stats(0); got.Requests != stats.Requests || got.MaxConnections != 1 {
		t.Errorf("who is not trusted was asked: %+v, before %+v", got, stats)
	}
	accept(mine)
	f.until(key, "accepted again", func(o fleet.Observation) bool { return o.Err == nil && o.Certificate == mine })
	accept(bmc.AcceptedCertificate{})
	f.until(key, "refused without", func(o fleet.Observation) bool { return refused(o) && o.Certificate.IsZero() })
}
