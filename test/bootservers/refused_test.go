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

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// refused: what a boot server cannot use is a condition of its Profile or Assignment, as long as the boot server is connected.
func (w *world) refused(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: managerNamespace, Name: "refused"}
	profile := &ipxev1.Profile{ObjectMeta: named, Spec: ipxev1.ProfileSpec{IPXE: "#!ipxe\nshell\n"}}
	assignment := &ipxev1.Assignment{ObjectMeta: named, Spec: ipxev1.AssignmentSpec{
		SubjectSelector: map[string]string{"uuid": "5e1f0000-0000-4000-8000-00000000f05e"}, ProfileName: profile.Name,
	}}
	create(t, w, profile, assignment)
	stream, leave := w.follow(t, w.identity(t, stolenName))
	// It refuses every version of both, as a boot server does that knows nothing of what is in them.
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			for _, encoded := range m.GetChanges().GetRecords() {
				var r streampb.Record
				if err := proto.Unmarshal(encoded, &r); err != nil {
					t.Error(err)
					return
				}
				ack := &streampb.Ack{Counter: r.Counter}
				if strings.HasSuffix(r.Key, "/"+managerNamespace+"/refused") {
					ack.Refused = append(ack.Refused, &streampb.Refusal{Key: r.Key, Counter: r.Counter, Reason: "a body of tomorrow"})
				}
				if stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Ack{Ack: ack}}) != nil {
					return
				}
			}
		}
	}()
	says := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, object := range []client.Object{profile, assignment} {
				if err := w.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
					return err
				}
			}
			for kind, conditions := range map[string][]metav1.Condition{"Profile": profile.Status.Conditions, "Assignment": assignment.Status.Conditions} {
				c := apimeta.FindStatusCondition(conditions, ipxev1.ConditionBootServerReached)
				if (c != nil) != want {
					return fmt.Errorf("%s: condition %+v", kind, c)
				}
				if want && (c.Reason != ipxev1.ReasonRefused || !strings.Contains(c.Message, stolenName) || !strings.Contains(c.Message, "a body of tomorrow")) {
					return fmt.Errorf("%s: %s: %s", kind, c.Reason, c.Message)
				}
			}
			return nil
		}
	}
	w.Eventually("Profile and Assignment say who refuses them", says(true))
	leave()
	w.Eventually("nobody refuses Profile and Assignment any longer", says(false))
}
