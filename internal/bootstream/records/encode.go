package records

import (
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// machine makes the record of an entry.
func (s *Source) machine(e *bootview.Entry) *streampb.Record {
	m := &streampb.Machine{
		Uuid: text(e.UUID), Macs: texts(e.MACs), Ips: texts(e.IPs), Serial: text(e.Serial), Rank: rankRecords[e.Rank], Site: text(e.Site),
		BootsFile: e.BootsFile, FileUrl: text(e.FileURL), Attempt: attemptRecord(e.Attempt), Terms: termsRecord(e.Attempt, &e.Terms),
	}
	if e.Rank != bootview.Stale { // of which nothing is ever served
		m.Script, m.Ignition = s.script(e), ignitionRecord(e)
	}
	return &streampb.Record{Key: text(e.Name), Version: e.Version, Body: &streampb.Record_Machine{Machine: m}}
}

var rankRecords = map[bootview.Rank]streampb.Rank{
	bootview.Stale: streampb.Rank_RANK_STALE, bootview.HandWritten: streampb.Rank_RANK_HAND_WRITTEN, bootview.Current: streampb.Rank_RANK_CURRENT,
}

func (s *Source) script(e *bootview.Entry) *streampb.Script {
	if e.Script.IsZero() {
		return nil
	}
	script := e.Script
	if !e.Attempt.IsOpen() {
		script = script.Public()
	}
	template, own, exact := script.Parts()
	if exact { // what somebody wrote may be secret, and is not remembered
		return &streampb.Script{Text: []byte(template), Exact: true}
	}
	shared, ok := s.templates.Get(template)
	if !ok {
		shared = []byte(template)
		s.templates.Add(template, shared)
	}
	return &streampb.Script{Text: shared, Own: own}
}

func ignitionRecord(e *bootview.Entry) *streampb.Ignition {
	switch i := e.Ignition; {
	case i == nil:
		return nil
	case !e.Attempt.IsOpen():
		return &streampb.Ignition{Withheld: true}
	case errors.Is(i.Err, bootview.ErrIgnitionMissing):
		return &streampb.Ignition{Problem: streampb.Ignition_PROBLEM_MISSING}
	case i.Err != nil: // its text may quote the payload
		return &streampb.Ignition{Problem: streampb.Ignition_PROBLEM_INVALID}
	default:
		return &streampb.Ignition{Payload: i.Payload, ContentType: text(i.ContentType)}
	}
}

func attemptRecord(a bootview.Attempt) *streampb.Attempt {
	record := &streampb.Attempt{Id: text(a.ID), Open: a.Open, Clean: text(a.Clean)}
	if a.IsOpen() {
		record.Token = text(a.Token)
	}
	return record
}

func termsRecord(a bootview.Attempt, t *bootview.Terms) *streampb.Terms {
	record := &streampb.Terms{
		Server: text(t.Server), Seen: stamp(t.Seen), Repeats: t.Repeats, Inspected: t.Inspected, BindFirst: text(t.BindFirst),
	}
	if !t.Bound.IsZero() {
		record.Bound = &streampb.Caller{Address: text(t.Bound.Addr.String()), Mac: text(t.Bound.MAC)}
	}
	if a.IsOpen() {
		record.BmcToken = text(t.BMCToken)
	}
	return record
}

func profileRecord(key string, p *profile.Profile) *streampb.Record {
	source := p.Source()
	record := &streampb.Profile{
		Uid: text(source.UID), Script: text(source.Script), Revision: p.Revision,
		Configs: make(map[string]*streampb.Content, len(source.Configs)), Ids: p.IDs(),
	}
	for name, c := range source.Configs {
		record.Configs[text(name)] = &streampb.Content{Bytes: c.Bytes, Type: text(c.Type), Inserted: c.Inserted, Problem: text(c.Err)}
	}
	return &streampb.Record{Key: key, Version: p.Version, Body: &streampb.Record_Profile{Profile: record}}
}

func assignmentRecord(a *assignment.Assignment) *streampb.Record {
	record := &streampb.Assignment{
		Created: stamp(a.Created), Admitted: stamp(a.Admitted), Selector: make(map[string]*streampb.Values, len(a.Selector)),
		Default: a.Default, Priority: a.Priority, Profile: text(a.Profile), Broken: text(a.Broken),
	}
	for key, values := range a.Selector {
		record.Selector[text(key)] = &streampb.Values{Values: texts(values)}
	}
	if a.Tenancy != nil {
		record.Tenancy = &streampb.Tenancy{Breadth: int32(a.Tenancy.Breadth), Since: stamp(a.Tenancy.Since)}
	}
	return &streampb.Record{
		Key: OfAssignment(a.Namespace, a.Name), Version: a.Version, Body: &streampb.Record_Assignment{Assignment: record},
	}
}

func instanceRecord(i *bootview.Instance) *streampb.Record {
	record := &streampb.Instance{Ips: texts(i.IPs), Fields: make(map[string]string, len(i.Fields)), HasUserData: i.UserData != nil}
	for name, value := range i.Fields {
		record.Fields[text(name)] = text(value)
	}
	if len(i.UserData) > 0 {
		record.UserData = make(map[string][]byte, len(i.UserData))
	}
	for name, value := range i.UserData {
		record.UserData[text(name)] = value
	}
	return &streampb.Record{Key: kindInstance + "/" + text(i.Name), Version: i.Version, Body: &streampb.Record_Instance{Instance: record}}
}

func imageRecord(owner string, pin registry.Pin) *streampb.Record {
	p := &pin.Plan
	return &streampb.Record{Key: OfImage(text(owner)), Version: pin.Version, Body: &streampb.Record_Image{Image: &streampb.Image{
		Registry: text(p.Registry), Repository: text(p.Repository), Tag: text(p.Tag), Digest: text(p.Digest),
		Kernel: layerRecord(p.Kernel), Initramfs: layerRecord(p.Initramfs), Squashfs: layerRecord(p.Squashfs), Uki: layerRecord(p.UKI),
		PullSecret: pin.PullSecret,
	}}}
}

func layerRecord(l *registry.Layer) *streampb.Layer {
	if l == nil {
		return nil
	}
	return &streampb.Layer{Digest: text(l.Digest), MediaType: text(l.MediaType), Size: l.Size}
}

// stamp is nil for the zero time.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// text makes a text one that a record can hold. What comes from the API is one already; a single other text would keep all records
// that are sent together from being sent.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(all []string) []string {
	out := slices.Clone(all)
	for i, s := range out {
		out[i] = text(s)
	}
	return out
}
