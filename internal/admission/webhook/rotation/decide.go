package rotation

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
)

const (
	day = 24 * time.Hour

	// authorityValidity and servingValidity are renewed after two thirds. The third that is left of an authority is longer than a serving certificate
	// lasts, so that nothing ends early.
	authorityValidity = 360 * day
	servingValidity   = authority.DefaultLifetime
	// overlap is how long an authority is announced before it signs. API servers learn of it within seconds.
	overlap = time.Hour
)

// change is one thing that has to be done to the material.
type change string

const (
	nothing change = ""
	// begin makes everything: there is nothing, or nothing that can be used.
	begin change = "begin"
	// prepare makes the next authority.
	prepare change = "prepare"
	// takeOver has the next authority sign.
	takeOver change = "take over"
	// issue makes another serving certificate.
	issue change = "issue"
	// forget ends the announcement of authorities that have ended.
	forget change = "forget"
)

// facts are what a change follows from.
type facts struct {
	material *material // nil: none, or none that can be used
	name     string    // DNS name under which API servers ask
	now      time.Time
	// announced reports whether the webhook configurations have all authorities of the material.
	announced bool
}

// decide returns what has to be done first.
func decide(f facts) change {
	m := f.material
	if m == nil || f.now.After(m.present.Certificate().NotAfter) {
		return begin
	}
	present := m.present.Certificate()
	switch {
	case m.next == nil && !f.now.Before(authority.RenewAt(present)):
		return prepare
	case m.next != nil && f.mayTakeOver():
		return takeOver
	case !m.serves(f.name) || !f.now.Before(authority.RenewAt(m.serving.Leaf)):
		return issue
	case slices.ContainsFunc(m.former, func(c *x509.Certificate) bool { return f.now.After(c.NotAfter) }):
		return forget
	}
	return nothing
}

// mayTakeOver reports whether API servers trust the next authority, or there is no time left to wait until they do.
func (f facts) mayTakeOver() bool {
	present, next := f.material.present.Certificate(), f.material.next.Certificate()
	waited := next.NotAfter.Add(-authorityValidity).Add(overlap) // since it was made
	return f.announced && !f.now.Before(waited) || f.now.After(present.NotAfter.Add(-day))
}

// serves reports whether the serving certificate is of the present authority and good for a name.
func (m *material) serves(name string) bool {
	return m.serving != nil && m.serving.Leaf.CheckSignatureFrom(m.present.Certificate()) == nil && m.serving.Leaf.VerifyHostname(name) == nil
}

// apply returns the material after a change. It leaves the one before as it was.
func apply(c change, f facts) (*material, error) {
	var m material
	if f.material != nil {
		m = *f.material
	}
	var err error
	switch c {
	case begin:
		m = material{}
		if m.present, err = newSigner(f.now); err == nil {
			m.serving, err = serving(m.present, f)
		}
	case prepare:
		m.next, err = newSigner(f.now)
	case takeOver:
		m.former = append(slices.Clone(m.former), m.present.Certificate())
		m.present, m.next = m.next, nil
		m.serving, err = serving(m.present, f)
	case issue:
		m.serving, err = serving(m.present, f)
	case forget:
		m.former = slices.DeleteFunc(slices.Clone(m.former), func(c *x509.Certificate) bool { return f.now.After(c.NotAfter) })
	}
	return &m, err
}

// serving makes key and certificate for the name under which API servers ask.
func serving(by *signer, f facts) (*tls.Certificate, error) {
	key, keyPEM, err := authority.NewKey()
	if err != nil {
		return nil, err
	}
	cert, err := by.Issue(key.Public(), f.name, authority.Manager, f.now, servingValidity)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, keyPEM)
	return &pair, err
}

// evolve returns the material after everything that has to be done now, and what that was.
func evolve(f facts) (*material, []change, error) {
	var done []change
	for c := decide(f); c != nothing; c = decide(f) {
		next, err := apply(c, f)
		if err != nil {
			return nil, nil, err
		}
		if done = append(done, c); len(done) > changesAtOnce {
			break // a clock that goes back and forth; the rest is done at the next look
		}
		f.material, f.announced = next, f.announced && c != prepare
	}
	return f.material, done, nil
}

// changesAtOnce bounds how much is done in one write.
const changesAtOnce = 4
