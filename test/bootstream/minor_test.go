package bootstream

import (
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
)

const (
	laterMinor = 7
	// laterField is in no message of this minor version.
	laterField = protowire.Number(1000)
)

// later is a message as a peer of a later minor version would send it: with a field more, in every message of it.
func later[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	m = proto.Clone(m).(M)
	addField(m.ProtoReflect())
	return m
}

func addField(m protoreflect.Message) {
	m.SetUnknown(protowire.AppendString(protowire.AppendTag(slices.Clone(m.GetUnknown()), laterField, protowire.BytesType), "of tomorrow"))
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap(), field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range value.List().Len() {
				addField(value.List().Get(i).Message())
			}
		default:
			addField(value.Message())
		}
		return true
	})
}

// laterManager is the end of a stream at which a manager of a later minor version stands.
type laterManager struct {
	grpc.ServerStream
	t *testing.T
}

// SendMsg sends messages and records of kinds that are not known yet among those that are.
func (s *laterManager) SendMsg(m any) error {
	response := later(s.t, m.(*streampb.FollowResponse))
	if welcome := response.GetWelcome(); welcome != nil {
		welcome.Minor = laterMinor
		return s.ServerStream.SendMsg(response)
	}
	if err := s.ServerStream.SendMsg(later(s.t, &streampb.FollowResponse{})); err != nil {
		return err
	}
	if changes := response.GetChanges(); changes != nil {
		var records [][]byte
		for _, encoded := range changes.Records {
			record := &streampb.Record{}
			if err := proto.Unmarshal(encoded, record); err != nil {
				return err
			}
			// Its counter is that of what follows.
			unknown := later(s.t, &streampb.Record{Key: "Weather/default/" + record.Key, Counter: record.Counter, Version: record.Version})
			records = append(records, s.encode(unknown), s.encode(later(s.t, record)))
		}
		changes.Records = records
	}
	return s.ServerStream.SendMsg(response)
}

func (s *laterManager) encode(r *streampb.Record) []byte {
	encoded, err := proto.Marshal(r)
	if err != nil {
		s.t.Error(err)
	}
	return encoded
}

// laterBootServer is the other end of a stream, at which a boot server of a later minor version stands.
type laterBootServer struct {
	grpc.ServerStream
	t *testing.T
	// unknown alternates between what the boot server has sent and messages of kinds that are not known yet.
	unknown bool
}

func (s *laterBootServer) RecvMsg(m any) error {
	request := m.(*streampb.FollowRequest)
	if s.unknown = !s.unknown; !s.unknown {
		proto.Merge(request, later(s.t, &streampb.FollowRequest{}))
		return nil
	}
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	addField(request.ProtoReflect())
	if hello := request.GetHello(); hello != nil {
		hello.Minor = laterMinor
	}
	return nil
}

// TestOtherMinorVersions: managers and boot servers of versions that follow each other work together, whichever is replaced first.
func TestOtherMinorVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		through func(*testing.T, grpc.ServerStream) grpc.ServerStream
		minor   uint32
	}{
		"the manager is newer":     {func(t *testing.T, s grpc.ServerStream) grpc.ServerStream { return &laterManager{s, t} }, 0},
		"the boot server is newer": {func(t *testing.T, s grpc.ServerStream) grpc.ServerStream { return &laterBootServer{s, t, false} }, laterMinor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, d := newPKI(t), newDisk(t)
			m := p.startManagerWith(managerOptions{observed: 1, heartbeat: quick, through: func(s grpc.ServerStream) grpc.ServerStream { return c.through(t, s) }}, "boot-1")
			for machine := range fleetSize {
				m.view.Put(entryOf(t, machine, 1))
			}
			b, end := d.start(p, "boot-1", m.address)
			await.True(t, "the view", func() bool { return b.follower.State().Synced })
			e := entryOf(t, 1, 2)
			m.view.Put(e)
			m.view.Delete(entryOf(t, 2, 1).Name)
			await.True(t, "a change and a deletion", func() bool { return b.generation(1) == 2 && b.generation(2) == 0 })
			reaches(t, m, "", e.Name)
			if all := m.server.BootServers(); len(all) != 1 || all[0].Minor != c.minor || len(all[0].Refused) > 0 {
				t.Errorf("it is known as %+v", all)
			}
			await.Until(t, "the boot server tells what the manager tells", func() string { return b.likeTheManager(m) })
			heard := b.follower.State().Heard
			await.True(t, "a heartbeat", func() bool { return b.follower.State().Heard.After(heard) })
			end()
			m.stop()
			d.with(p, "boot-1", m, "what was kept", func(b *bootServer) bool { return b.likeTheManager(m) == "" })
		})
	}
}
