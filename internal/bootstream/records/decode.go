package records

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const (
	// maxIdentifiers bounds the addresses of a machine. A server has some ten.
	maxIdentifiers = 1024
	// minSignerKey is how long the key of signed URLs is at least, in bytes.
	minSignerKey = 16
)

func (v *Views) machine(kind, name string, r *streampb.Record, m *streampb.Machine) error {
	if !isMachine(kind) || name == "" {
		return errForeignKey
	}
	e := bootview.Entry{
		Name: r.GetKey(), Version: r.GetVersion(), UUID: m.GetUuid(), MACs: m.GetMacs(), IPs: m.GetIps(), Serial: m.GetSerial(),
		Site: v.word(m.GetSite()), BootsFile: m.GetBootsFile(), FileURL: v.word(m.GetFileUrl()),
	}
	if len(e.MACs)+len(e.IPs) > maxIdentifiers {
		return fmt.Errorf("more than %d addresses", maxIdentifiers)
	}
	var err error
	if e.Rank, err = rankOf(m.GetRank()); err != nil {
		return err
	}
	// Whatever has no attempt is open to all: that has to be said.
	a := m.GetAttempt()
	if a == nil {
		return errors.New("attempt: required")
	}
	e.Attempt = bootview.Attempt{ID: a.GetId(), Token: a.GetToken(), Open: a.GetOpen(), Clean: v.word(a.GetClean())}
	if e.Terms, err = termsOf(m.GetTerms()); err != nil {
		return err
	}
	if s := m.GetScript(); s != nil {
		if e.Script, err = v.templates.script(s); err != nil {
			return err
		}
	}
	if e.Ignition, err = v.ignition(m.GetIgnition()); err != nil {
		return err
	}
	if v.Machines != nil {
		v.Machines.Put(e)
	}
	return nil
}

func rankOf(rank streampb.Rank) (bootview.Rank, error) {
	for known, record := range rankRecords {
		if record == rank {
			return known, nil
		}
	}
	return bootview.Stale, fmt.Errorf("rank %d is not known", rank)
}

// Ignition without a payload is the same for all machines.
var (
	withheldIgnition = &bootview.Ignition{Err: bootview.ErrIgnitionWithheld}
	missingIgnition  = &bootview.Ignition{Err: bootview.ErrIgnitionMissing}
	invalidIgnition  = &bootview.Ignition{Err: errors.New("ignition cannot be translated")}
)

func (v *Views) ignition(i *streampb.Ignition) (*bootview.Ignition, error) {
	switch {
	case i == nil:
		return nil, nil
	case i.GetWithheld():
		return withheldIgnition, nil
	}
	switch i.GetProblem() {
	case streampb.Ignition_PROBLEM_NONE:
		return v.payloads.share(i.GetPayload(), v.word(i.GetContentType())), nil
	case streampb.Ignition_PROBLEM_MISSING:
		return missingIgnition, nil
	case streampb.Ignition_PROBLEM_INVALID:
		return invalidIgnition, nil
	}
	return nil, fmt.Errorf("ignition: problem %d is not known", i.GetProblem())
}

func termsOf(t *streampb.Terms) (bootview.Terms, error) {
	seen, err := timeOf("seen", t.GetSeen())
	if err != nil {
		return bootview.Terms{}, err
	}
	terms := bootview.Terms{
		Server: t.GetServer(), Seen: seen, Repeats: t.GetRepeats(), BMCToken: t.GetBmcToken(), Inspected: t.GetInspected(), BindFirst: t.GetBindFirst(),
	}
	if bound := t.GetBound(); bound != nil {
		address, err := netip.ParseAddr(bound.GetAddress())
		if err != nil {
			return bootview.Terms{}, errors.New("bound: no address")
		}
		terms.Bound = bootview.Caller{Addr: address, MAC: bound.GetMac()}
	}
	return terms, nil
}

func (v *Views) profile(kind, key string, version uint64, p *streampb.Profile) error {
	if kind != kindProfile && kind != kindBefore {
		return errForeignKey
	}
	namespace, name, err := cutName(key)
	if err != nil {
		return err
	}
	source := profile.Source{
		Namespace: namespace, Name: name, UID: p.GetUid(), Script: p.GetScript(), Version: version,
		Configs: make(map[string]profile.Content, len(p.GetConfigs())),
	}
	size := 0
	for config, c := range p.GetConfigs() {
		size += len(c.GetBytes())
		source.Configs[config] = profile.Content{Bytes: c.GetBytes(), Type: c.GetType(), Inserted: c.GetInserted(), Err: c.GetProblem()}
	}
	if size > profile.MaxConfigs {
		return fmt.Errorf("all configs together are longer than %d bytes", profile.MaxConfigs)
	}
	compiled, err := profile.CompileAs(source, p.GetRevision(), p.GetIds())
	switch {
	case err != nil:
		return err
	case v.Profiles == nil:
	case kind == kindProfile:
		v.Profiles.SetProfile(namespace, name, compiled)
	default:
		v.Profiles.SetProfileBefore(namespace, name, compiled)
	}
	return nil
}

func (v *Views) assignment(kind, key string, version uint64, a *streampb.Assignment) error {
	if kind != kindAssignment {
		return errForeignKey
	}
	namespace, name, err := cutName(key)
	if err != nil {
		return err
	}
	created, err1 := timeOf("created", a.GetCreated())
	admitted, err2 := timeOf("admitted", a.GetAdmitted())
	since, err3 := timeOf("since", a.GetTenancy().GetSince())
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	selector := make(assignment.Selector, len(a.GetSelector()))
	for label, values := range a.GetSelector() {
		selector[v.word(label)] = values.GetValues()
	}
	if err := selector.Check(); err != nil {
		return err
	}
	made := &assignment.Assignment{
		Namespace: namespace, Name: name, Created: created, Admitted: admitted, Selector: selector, Default: a.GetDefault(), Priority: a.GetPriority(),
		Profile: a.GetProfile(), Broken: a.GetBroken(), Version: version,
	}
	if t := a.GetTenancy(); t != nil {
		breadth := assignment.Breadth(t.GetBreadth())
		if breadth < assignment.Exactly || breadth > assignment.Everything {
			return fmt.Errorf("tenancy: breadth %d is not known", breadth)
		}
		made.Tenancy = &assignment.Tenancy{Breadth: breadth, Since: since}
	}
	if v.Profiles != nil {
		v.Profiles.Put(made)
	}
	return nil
}

func (v *Views) instance(kind, name string, version uint64, i *streampb.Instance) error {
	if kind != kindInstance || name == "" {
		return errForeignKey
	}
	if len(i.GetIps()) > maxIdentifiers {
		return fmt.Errorf("more than %d addresses", maxIdentifiers)
	}
	made := bootview.Instance{Name: name, IPs: i.GetIps(), Fields: i.GetFields(), Version: version}
	if made.Fields == nil {
		made.Fields = map[string]string{}
	}
	if i.GetHasUserData() {
		if made.UserData = i.GetUserData(); made.UserData == nil {
			made.UserData = map[string][]byte{}
		}
	}
	if v.Instances != nil {
		v.Instances.Put(made)
	}
	return nil
}

func (v *Views) image(kind, owner string, version uint64, i *streampb.Image) error {
	if kind != kindImage || owner == "" {
		return errForeignKey
	}
	plan := registry.Plan{
		Registry: i.GetRegistry(), Repository: i.GetRepository(), Tag: i.GetTag(), Digest: i.GetDigest(),
		Kernel: layerOf(i.GetKernel()), Initramfs: layerOf(i.GetInitramfs()), Squashfs: layerOf(i.GetSquashfs()), UKI: layerOf(i.GetUki()),
	}
	if err := plan.Check(); err != nil {
		return err
	}
	if v.Blobs != nil {
		// A pull secret that cannot be used is said of the object by whoever resolves its image. The layers are pinned without it.
		_ = v.Blobs.Pin(owner, registry.Pin{Plan: plan, PullSecret: i.GetPullSecret(), Version: version})
	}
	return nil
}

func layerOf(l *streampb.Layer) *registry.Layer {
	if l == nil {
		return nil
	}
	return &registry.Layer{Digest: l.GetDigest(), MediaType: l.GetMediaType(), Size: l.GetSize()}
}

func (v *Views) settings(key string, s *streampb.Settings) error {
	if key != kindSettings {
		return errForeignKey
	}
	next := settings{defaultUKI: s.GetDefaultUkiUrl()}
	if secret := s.GetConfigUrlKey(); len(secret) > 0 {
		ttl := s.GetConfigUrlTtl()
		if len(secret) < minSignerKey || ttl.CheckValid() != nil || ttl.AsDuration() <= 0 {
			return errors.New("URLs of configs cannot be signed: the key is too short, or they are good for no time")
		}
		next.signer = &profile.Signer{Key: secret, TTL: ttl.AsDuration()}
	}
	v.apply(next)
	return nil
}

// timeOf is the zero time for none.
func timeOf(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if err := t.CheckValid(); err != nil {
		return time.Time{}, fmt.Errorf("%s: no time", field)
	}
	return t.AsTime(), nil
}
