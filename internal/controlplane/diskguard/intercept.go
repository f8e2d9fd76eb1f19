package diskguard

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// Intercept is a gRPC interceptor of etcd: it refuses what writes while there is no room, as etcd refuses it when its database has reached its
// bound, and bounds what is in flight.
func (g *Guard) Intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	size := written(request)
	if size == 0 {
		return handle(ctx, request)
	}
	weight := min(size, InFlight)
	if err := g.inFlight.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	defer g.inFlight.Release(weight)
	if g.admit(size) != nil {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	return handle(ctx, request)
}

// written is how many bytes a request makes etcd write at least; 0: none.
func written(request any) int64 {
	switch r := request.(type) {
	case *pb.PutRequest:
		return int64(r.Size())
	case *pb.TxnRequest:
		return int64(r.Size())
	case *pb.DeleteRangeRequest:
		return int64(r.Size())
	case *pb.CompactionRequest:
		return int64(r.Size())
	case *pb.LeaseGrantRequest:
		return int64(r.Size())
	}
	return 0
}
