package bootstream

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

// Limits on boot servers. One has a stream, a Tell and some reports under way at a time.
const (
	serverHandshake  = 10 * time.Second
	streamsMaximum   = 64
	keepaliveTime    = 20 * time.Second
	keepaliveTimeout = 10 * time.Second
)

// GRPC is a gRPC server with the service BootStream alone.
func (s *Server) GRPC(c credentials.TransportCredentials) *grpc.Server {
	g := grpc.NewServer(
		grpc.Creds(c), grpc.ConnectionTimeout(serverHandshake), grpc.MaxConcurrentStreams(streamsMaximum),
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 2, PermitWithoutStream: true}),
	)
	streampb.RegisterBootStreamServer(g, s)
	return g
}
