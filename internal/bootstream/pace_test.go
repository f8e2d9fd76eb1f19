package bootstream

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/test/await"
)

// TestChangesOfAMomentAreSentTogether: a boot server is sent what changes within the pace in one message.
func TestChangesOfAMomentAreSentTogether(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	m := newManager(t, "", func(o *ServerOptions) { o.Clock, o.Heartbeat = clock, time.Hour })
	conn, err := grpc.NewClient("passthrough:///manager", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return m.listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	stream, err := streampb.NewBootStreamClient(conn).Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&streampb.FollowRequest{Kind: &streampb.FollowRequest_Hello{Hello: &streampb.Hello{}}}); err != nil {
		t.Fatal(err)
	}
	for m, err := stream.Recv(); m.GetCurrent() == nil; m, err = stream.Recv() {
		if err != nil {
			t.Fatal(err)
		}
	}
	// The time stands still, so all of these are of the moment in which the boot server was last sent something.
	const changes = 500
	for i := range changes {
		m.journal.Put("", machine(fmt.Sprintf("Kind/ns/%d", i), 1, "text"))
		runtime.Gosched() // the server may send it now, if it would
	}
	sent := make(chan int, 1)
	go func() {
		m, _ := stream.Recv()
		sent <- len(m.GetChanges().GetRecords())
	}()
	got := 0
	await.True(t, "changes", func() bool {
		clock.Step(pace)
		select {
		case got = <-sent:
			return true
		default:
			return false
		}
	})
	if got != changes {
		t.Errorf("%d records in the first message, want %d", got, changes)
	}
}
