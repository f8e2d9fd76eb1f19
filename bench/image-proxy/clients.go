package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/child"
)

const roleClients = "clients"

// clientsRequest asks clients to fetch a path again and again for a while; each at least once if Whole says so.
type clientsRequest struct {
	Address, Path string
	Clients       int
	Duration      time.Duration
	Whole         bool
}

type clientsAnswer struct {
	Bytes   int64
	Elapsed time.Duration
}

func (a clientsAnswer) perSecond() float64 { return float64(a.Bytes) / a.Elapsed.Seconds() }

// fetchDeadline is far beyond what any fetch takes.
const fetchDeadline = 10 * time.Minute

func serveClients(ctx context.Context) error {
	return child.Serve(func(r clientsRequest) (clientsAnswer, error) {
		var total atomic.Int64
		var running sync.WaitGroup
		errs := make([]error, r.Clients)
		start := time.Now()
		for i := range r.Clients {
			running.Go(func() { errs[i] = client(ctx, r, start.Add(r.Duration), &total) })
		}
		running.Wait()
		return clientsAnswer{Bytes: total.Load(), Elapsed: time.Since(start)}, errors.Join(errs...)
	})
}

// client is as thin as a client can be, for it shares the processors with the server.
func client(ctx context.Context, r clientsRequest, end time.Time, total *atomic.Int64) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(fetchDeadline)); err != nil {
		return err
	}
	buffer := make([]byte, 256<<10)
	in := bufio.NewReaderSize(conn, 4<<10)
	for {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", r.Path, r.Address); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		resp, err := http.ReadResponse(in, nil) //nolint:bodyclose // the connection is read in its place
		if err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("answer: %s", resp.Status)
		}
		// What bufio has read already, then the connection itself.
		left := resp.ContentLength - int64(in.Buffered())
		total.Add(int64(in.Buffered()))
		if _, err := in.Discard(in.Buffered()); err != nil {
			return err
		}
		for left > 0 {
			n, err := conn.Read(buffer[:min(int64(len(buffer)), left)])
			total.Add(int64(n))
			if left -= int64(n); err != nil && left > 0 {
				return fmt.Errorf("body, %d bytes before its end: %w", left, errors.Join(err, io.ErrUnexpectedEOF))
			}
			if !r.Whole && time.Now().After(end) {
				return nil
			}
		}
		if time.Now().After(end) {
			return nil
		}
	}
}
