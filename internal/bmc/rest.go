package bmc

import (
	"context"
	"sync/atomic"
	"time"
)

// line is the connection that a client had last, if any. The transport owns it; a client can only ask it to hang up.
type line struct{ conn atomic.Pointer[counted] }

// lineKey is the key under which a request's context has the line that a dial for it is entered in.
type lineKey struct{}

func withLine(ctx context.Context, l *line) context.Context {
	return context.WithValue(ctx, lineKey{}, l)
}

// connected enters a connection in the line of the request that it was made for.
func connected(ctx context.Context, conn *counted) {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		l.conn.Store(conn)
	}
}

// Rest closes the connection and keeps the session: nothing will be asked soon. An open connection costs two
// goroutines and their buffers, at both ends, and a BMC has few; the next request makes a new one, with TLS resumed.
func (c *Client) Rest(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	defer c.release()
	conn := c.line.conn.Swap(nil)
	if conn == nil {
		return nil
	}
	// Closing it here would be seen by the transport some time later, and the next request might be given what is
	// closed. Its reader, waiting for bytes that nobody sends, ends by this deadline: then the transport has given
	// the connection up before it closes it.
	_ = conn.SetReadDeadline(time.Unix(1, 0)) // fails where it is closed already
	select {
	case <-conn.gone:
		return nil
	case <-ctx.Done():
		return c.transportError("close the connection", ctx.Err())
	}
}
