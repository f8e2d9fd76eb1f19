package fleet_test

import (
	"context"
	"crypto/x509"
	"testing"

	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// Over https, certificates are verified: a BMC whose certificate is not good, for whatever reason,
// is not given the password, and its neighbour is looked after.
func TestCertificates(t *testing.T) {
	values := []string{"alert", "expired", "name", "authority"}
	kinds := []bmc.Kind{bmc.KindConnection, bmc.KindUntrusted, bmc.KindUntrusted, bmc.KindUntrusted}
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
