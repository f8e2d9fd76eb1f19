package enroll

import (
	"context"
	"time"

	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

// Registration is what is kept of a boot server. Nothing in it is secret.
type Registration struct {
	Site string `json:"site,omitempty"`
	// Key is the name of the public key that is bound to the boot server (peer.KeyOf); empty: it has not joined.
	Key   string   `json:"key,omitempty"`
	Token *Joining `json:"token,omitempty"`
}

// Joining is a token for a boot server.
type Joining struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
	// Used tokens are good for nothing but the same answer again, to the key that has used it.
	Used bool `json:"used,omitempty"`
	// Site becomes that of the boot server when it joins.
	Site string `json:"site,omitempty"`
}

// Store keeps Registrations by name.
type Store interface {
	// Read returns the Registration of a name; false: there is none.
	Read(ctx context.Context, name string) (Registration, bool, error)
	// Change hands the Registration of a name to change, the zero one if there is none, and keeps what becomes of it unless change fails, with
	// that error. Nobody else changes it in between, so change may be called several times.
	Change(ctx context.Context, name string, change func(*Registration) error) error
}

// NewToken makes a token with which a boot server can join once. Until it is used, whoever has the name keeps it.
func NewToken(ctx context.Context, s Store, name, site string, expires time.Time) (string, error) {
	token, hash := newToken(name)
	return token, s.Change(ctx, name, func(r *Registration) error {
		r.Token = &Joining{Hash: hash, Expires: expires.UTC().Truncate(time.Second), Site: site}
		return nil
	})
}

// Entry is what the boot stream knows of a boot server that has joined: its certificates need the key that is bound to its name. false: it
// has not.
func (r Registration) Entry() (peer.Entry, bool) {
	return peer.Entry{Site: r.Site, Key: r.Key}, r.Key != ""
}
