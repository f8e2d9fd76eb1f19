package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/farrier-dev/farrier/bench/internal/stats"
)

// Plan is one run of load.
type Plan struct {
	Address     string
	Connections int
	Duration    time.Duration
	Seed        uint64
	// Request makes the text of the next request.
	Request func(*rand.Rand, []byte) []byte
}

// Outcome is what came of it.
type Outcome struct {
	Requests  int           `json:"requests"`
	Elapsed   time.Duration `json:"elapsed"`
	BodyBytes int64         `json:"bodyBytes"`
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
}

// PerSecond is the rate of answers.
func (o Outcome) PerSecond() float64 { return float64(o.Requests) / o.Elapsed.Seconds() }

// answerDeadline is far beyond what a server on the same machine takes.
const answerDeadline = 30 * time.Second

// Run puts p's load on a server. Any answer but 200 is an error, and ends it.
func Run(ctx context.Context, p Plan) (Outcome, error) {
	workers := make([]*worker, p.Connections)
	for i := range workers {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", p.Address)
		if err != nil {
			return Outcome{}, fmt.Errorf("load: %w", err)
		}
		defer func() { _ = conn.Close() }()
		workers[i] = &worker{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), random: rand.New(rand.NewPCG(p.Seed, uint64(i)))}
	}
	start := time.Now()
	end := start.Add(p.Duration)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.err = w.run(end, p.Request) })
	}
	running.Wait()
	out := Outcome{Elapsed: time.Since(start)}
	var latencies []time.Duration
	var errs []error
	for _, w := range workers {
		out.BodyBytes += w.bytes
		latencies = append(latencies, w.latencies...)
		errs = append(errs, w.err)
	}
	out.Requests = len(latencies)
	out.P50, out.P99 = stats.Median(latencies), stats.Quantile(latencies, 0.99)
	return out, errors.Join(errs...)
}

// worker is one connection.
type worker struct {
	conn      net.Conn
	in        *bufio.Reader
	random    *rand.Rand
	request   []byte
	latencies []time.Duration
	bytes     int64
	err       error
}

func (w *worker) run(end time.Time, request func(*rand.Rand, []byte) []byte) error {
	if err := w.conn.SetDeadline(end.Add(answerDeadline)); err != nil {
		return err
	}
	for sent := time.Now(); sent.Before(end); {
		w.request = request(w.random, w.request[:0])
		if _, err := w.conn.Write(w.request); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		n, err := readAnswer(w.in)
		if err != nil {
			line, _, _ := strings.Cut(string(w.request), "\r\n")
			return fmt.Errorf("%s: %w", line, err)
		}
		now := time.Now()
		w.latencies = append(w.latencies, now.Sub(sent))
		w.bytes += int64(n)
		sent = now
	}
	return nil
}

// readAnswer reads one HTTP/1.1 answer with a Content-Length and returns how long its
// body was.
func readAnswer(in *bufio.Reader) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, fmt.Errorf("status line: %w", err)
	}
	if len(line) < 12 || string(line[9:12]) != "200" {
		return 0, fmt.Errorf("answer %q", line)
	}
	length := -1
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return 0, fmt.Errorf("header: %w", err)
		}
		if len(line) <= 2 {
			break
		}
		const name = "Content-Length: "
		if len(line) > len(name) && string(line[:len(name)]) == name {
			if length, err = strconv.Atoi(string(line[len(name) : len(line)-2])); err != nil {
				return 0, fmt.Errorf("header: %w", err)
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without Content-Length")
	}
	if n, err := in.Discard(length); err != nil {
		return n, fmt.Errorf("body: %w", err)
	}
	return length, nil
}

// Fetch sends one request and returns the body of the answer.
func Fetch(ctx context.Context, address string, request []byte) ([]byte, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerDeadline)); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	if _, err := conn.Write(request); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	var kept strings.Builder
	length, err := readAnswer(bufio.NewReader(io.TeeReader(conn, &kept)))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	all := kept.String()
	return []byte(all[len(all)-length:]), nil
}
