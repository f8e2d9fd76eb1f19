package profile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// Why a machine is not given what it asks for.
var (
	// ErrUnsynced says that not everything is known yet.
	ErrUnsynced = errors.New("not synchronised")
	// ErrUnassigned says that no assignment matches.
	ErrUnassigned = errors.New("no assignment")
	// ErrBroken says that the machine's assignment cannot be served.
	ErrBroken = errors.New("the assignment cannot be served")
	// ErrUnknown says that there is no such config, or no longer.
	ErrUnknown = errors.New("no such config")
	// ErrBusy says that too many scripts of the namespace are being rendered.
	ErrBusy = errors.New("too many scripts of the namespace are being rendered")
	// ErrForbidden says that a URL is not signed, or no longer good.
	ErrForbidden = errors.New("the URL is not signed, or has expired")
)

// Parameters of a config's URL beside the machine's labels.
const (
	paramRevision  = "revision"
	paramExpires   = "expires"
	paramSignature = "signature"
)

// View is what boot servers answer from. It may be used by many at once.
type View struct {
	clock  clock.PassiveClock
	signer atomic.Pointer[Signer] // nil: URLs are not signed

	*assignment.Index

	mu       sync.RWMutex
	synced   bool
	profiles map[profileKey]*Profile
	// before is the revision of each profile that the present one replaced: machines that
	// were given its script are still booting.
	before  map[profileKey]*Profile
	owners  map[string]owner // by config ID
	tell    []func(namespace, name string)
	changed func(namespace, name string, now, before *Profile)

	limit renderLimit
}

// owner is whose a config is, and under which name.
type owner struct {
	profile profileKey
	name    string
}

type profileKey struct{ namespace, name string }

// NewView returns an empty view. Without a signer URLs are open.
func NewView(c clock.PassiveClock, signer *Signer) *View {
	v := &View{
		clock: c, Index: assignment.NewIndex(),
		profiles: map[profileKey]*Profile{}, before: map[profileKey]*Profile{}, owners: map[string]owner{},
	}
	v.signer.Store(signer)
	return v
}

// SetSigner has URLs of configs signed from now on, and only such served; nil: neither.
func (v *View) SetSigner(signer *Signer) { v.signer.Store(signer) }

// SetSynced reports whether everything that exists is in the view.
func (v *View) SetSynced(synced bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.synced = synced
}

// Synced reports whether everything that exists is in the view.
func (v *View) Synced() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.synced
}

// Script is what a machine is given to run.
type Script struct {
	Body       []byte
	Assignment *assignment.Assignment
	Profile    *Profile
}

// Script answers which script a machine runs. base is the URL of the boot server, without a
// slash at its end. An error is one of those above; with ErrBroken the script still names the
// assignment.
func (v *View) Script(subject assignment.Subject, base string) (Script, error) {
	return v.AppendScript(context.Background(), nil, subject, base)
}

// AppendScript is Script with the body appended to dst. Whoever asks holds no lock while the script is rendered, waits for no other
// namespace, and ends it with ctx.
func (v *View) AppendScript(ctx context.Context, dst []byte, subject assignment.Subject, base string) (Script, error) {
	s, err := v.scriptFor(subject)
	if err != nil {
		return s, err
	}
	if s.Profile.parts == nil {
		leave, err := v.limit.enter(ctx, s.Profile.Namespace)
		if err != nil {
			return s, err
		}
		defer leave()
	}
	body, err := v.render(ctx, dst, s.Profile, subject, base)
	if err != nil {
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		v.note(s.Profile, err)
		return s, fmt.Errorf("%w: profile %s: %w", ErrBroken, s.Profile.Key(), err)
	}
	s.Body = body
	return s, nil
}

// render appends the script of a profile.
func (v *View) render(ctx context.Context, dst []byte, p *Profile, subject assignment.Subject, base string) ([]byte, error) {
	if p.parts == nil {
		return p.appendScript(ctx, dst, subject, func(dst []byte, id string) []byte {
			return v.appendConfigURL(append(dst, base...), id, p.Revision, subject)
		})
	}
	// The same for nearly all scripts, and without memory for a function that statements could keep.
	return p.insert(dst, subject, func(dst []byte, id string) []byte {
		return v.appendConfigURL(append(dst, base...), id, p.Revision, subject)
	})
}

// scriptFor finds whose script a machine is given.
func (v *View) scriptFor(subject assignment.Subject) (Script, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if !v.synced {
		return Script{}, ErrUnsynced
	}
	winner := v.Decide(subject).Winner
	if winner == nil {
		return Script{}, ErrUnassigned
	}
	s := Script{Assignment: winner}
	if winner.Broken != "" {
		return s, fmt.Errorf("%w: %s", ErrBroken, winner.Broken)
	}
	if s.Profile = v.profiles[profileKey{winner.Namespace, winner.Profile}]; s.Profile == nil {
		return s, fmt.Errorf("%w: profile %s/%s does not exist", ErrBroken, winner.Namespace, winner.Profile)
	}
	return s, nil
}

// note remembers the first error of a profile's script, and tells those who want to know.
func (v *View) note(p *Profile, err error) {
	text := err.Error()
	if !ofScript(err) || !p.refused.CompareAndSwap(nil, &text) {
		return
	}
	v.mu.RLock()
	tell := v.tell
	v.mu.RUnlock()
	for _, f := range tell {
		f(p.Namespace, p.Name)
	}
}

// SubscribeRefused has f called when a script could first not be rendered. It must not block.
func (v *View) SubscribeRefused(f func(namespace, name string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tell = append(v.tell, f)
}

// Refused is why the script of a profile, as it is now, could not be rendered for some machine; empty while it always could.
func (v *View) Refused(namespace, name string) string {
	p, ok := v.Profile(namespace, name)
	if !ok {
		return ""
	}
	if why := p.refused.Load(); why != nil {
		return *why
	}
	return ""
}

func (v *View) appendConfigURL(dst []byte, id, revision string, subject assignment.Subject) []byte {
	dst = append(dst, "/config/"...)
	dst = append(dst, id...)
	dst = append(dst, '?')
	start := len(dst)
	dst = appendQuery(dst, subject)
	labels := dst[start:]
	if len(labels) > 0 {
		dst = append(dst, '&')
	}
	dst = append(dst, paramRevision+"="...)
	dst = append(dst, revision...)
	if signer := v.signer.Load(); signer != nil {
		dst = append(dst, signer.sign(id, revision, string(labels), v.clock.Now())...)
	}
	return dst
}

// Config is what a config's URL is answered with.
type Config struct {
	Bytes []byte
	// ContentType, ETag and Length are the values of these header fields, one each, and shared: they are not to be changed.
	ContentType, ETag, Length []string
	// Profile and Name say which config of which profile it is.
	Profile *Profile
	Name    string
}

// Config answers what a config's URL names: of the revision that its script came from, if that
// is still known; without a revision, the present one. The query is the machine's labels and, among
// them, our own parameters.
func (v *View) Config(id string, query assignment.Subject) (Config, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if !v.synced {
		return Config{}, ErrUnsynced
	}
	id = strings.ToLower(id)
	revision := query.Get(paramRevision)
	if signer := v.signer.Load(); signer != nil && !v.signed(signer, id, revision, query) {
		return Config{}, ErrForbidden
	}
	who, ok := v.owners[id]
	if !ok {
		return Config{}, ErrUnknown
	}
	p := v.profiles[who.profile]
	if revision != "" && (p == nil || p.Revision != revision) {
		p = v.before[who.profile]
	}
	if p == nil || revision != "" && p.Revision != revision {
		return Config{}, ErrUnknown
	}
	content, ok := p.configs[who.name]
	if !ok || content.Inserted {
		return Config{}, ErrUnknown
	}
	if content.Err != "" {
		return Config{}, fmt.Errorf("%w: config %q of profile %s: %s", ErrBroken, who.name, p.Key(), content.Err)
	}
	how := p.served[who.name]
	return Config{Bytes: content.Bytes, ContentType: how.mediaType, ETag: how.etag, Length: how.length, Profile: p, Name: who.name}, nil
}

// signed reports whether a URL is one of ours. Its labels are those that the signature was made
// with, whatever their order.
func (v *View) signed(signer *Signer, id, revision string, query assignment.Subject) bool {
	labels := Query(query.Without(paramRevision, paramExpires, paramSignature))
	return signer.verify(id, revision, labels, query.Get(paramExpires), query.Get(paramSignature), v.clock.Now())
}

// Profiles returns the profile of that name.
func (v *View) Profile(namespace, name string) (*Profile, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	p, ok := v.profiles[profileKey{namespace, name}]
	return p, ok
}
