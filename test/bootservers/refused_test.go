package bootservers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// refused: what a boot server cannot use, or cannot fetch, is a condition of what it is made of, as long as the boot server is connected.
func (w *world) refused(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: managerNamespace, Name: "refused"}
	profile := &ipxev1.Profile{ObjectMeta: named, Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\nshell\n"}}
	assignment := &ipxev1.Assignment{ObjectMeta: named, Spec: ipxev1.AssignmentSpec{
		SubjectSelector: map[string]string{"uuid": "5e1f0000-0000-4000-8000-00000000f05e"}, ProfileName: profile.Name,
	}}
	create(t, w, profile, assignment)
	w.prepared(named.Name, "5e1f0000-0000-4000-8000-00000000f05f", "")
	stream, leave := w.follow(t, w.identity(t, stolenName))
	go refuse(t, stream, "/"+named.Namespace+"/"+named.Name)

	boots, config := &metalv1.ServerBootConfiguration{}, &bootv1.IPXEBootConfig{}
	says := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, object := range []client.Object{profile, assignment, boots, config} {
				if err := w.Get(ctx, client.ObjectKey{Namespace: named.Namespace, Name: named.Name}, object); err != nil {
					return err
				}
			}
			for _, said := range []struct {
				conditions   []metav1.Condition
				kind, reason string
			}{
				{profile.Status.Conditions, ipxev1.ConditionBootServerReached, ipxev1.ReasonRefused},
				{assignment.Status.Conditions, ipxev1.ConditionBootServerReached, ipxev1.ReasonRefused},
				{config.Status.Conditions, bootv1.ConditionBootServerReached, bootv1.ReasonRefused},
				{boots.Status.Conditions, metalv1.ConditionBootServerHasImage, metalv1.ReasonNotFetched},
			} {
				c := apimeta.FindStatusCondition(said.conditions, said.kind)
				if (c != nil) != want || want && (c.Reason != said.reason || !strings.Contains(c.Message, stolenName) || !strings.Contains(c.Message, whyRefused)) {
					return fmt.Errorf("%s, want %v: %+v", said.kind, want, said.conditions)
				}
			}
			return nil
		}
	}
	w.Eventually("everything says who cannot use it", says(true))
	leave()
	w.Eventually("nobody refuses anything any longer", says(false))
}

const whyRefused = "a body of tomorrow"

// refuse follows as a boot server does that cannot use what is about an object, in any version, nor fetch its image.
func refuse(t *testing.T, stream streampb.BootStream_FollowClient, object string) {
	for {
		m, err := stream.Recv()
		if err != nil {
			return // the test has left
		}
		ack, health := &streampb.Ack{}, &streampb.Health{}
		for _, encoded := range m.GetChanges().GetRecords() {
			var r streampb.Record
			if err := proto.Unmarshal(encoded, &r); err != nil {
				t.Error(err)
				return
			}
			ack.Counter = r.Counter
			switch {
			case !strings.HasSuffix(r.Key, object) || r.GetDeleted() != nil:
			case r.GetImage() != nil:
				health.Unfetched = append(health.Unfetched, &streampb.Unfetched{Key: r.Key, Reason: whyRefused})
			default:
				ack.Refused = append(ack.Refused, &streampb.Refusal{Key: r.Key, Counter: r.Counter, Reason: whyRefused})
			}
		}
		said := []*streampb.FollowRequest{{Kind: &streampb.FollowRequest_Ack{Ack: ack}}}
		if len(health.Unfetched) > 0 {
			said = append(said, &streampb.FollowRequest{Kind: &streampb.FollowRequest_Health{Health: health}})
		}
		for _, request := range said {
			if stream.Send(request) != nil {
				return
			}
		}
	}
}
