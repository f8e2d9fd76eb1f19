package progress

import (
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// Chunk is what a client has ChunkTimeout to take: 70 kB/s, slower than any management network and fast enough to be rid of one
	// that stopped reading. It is also what Go gives to sendfile(2) at once.
	Chunk        = 4 << 20
	ChunkTimeout = time.Minute
	// copyBuffer is what the reader of a running download needs; there may be ten thousand.
	copyBuffer = 64 << 10
)

// Writer moves the write deadline of a connection as the client takes bytes. Each chunk has its own time, since one time for the
// whole answer would depend on its size. Only the time that the client takes counts, not the time that a registry takes.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	// Status is that of the answer, Total how many bytes of its body were sent.
	Status int
	Total  int64
	sent   int64         // bytes of the chunk
	left   time.Duration // time for the rest of the chunk
}

// New returns a writer of an answer that nothing was written of.
func New(w http.ResponseWriter) *Writer {
	return &Writer{ResponseWriter: w, control: http.NewResponseController(w), Status: http.StatusOK, left: ChunkTimeout}
}

// Unwrap is for http.ResponseController.
func (p *Writer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// extend gives the client what is left of the time of its chunk, from now on. It fails where there is no connection, in tests of handlers.
func (p *Writer) extend(now time.Time) { _ = p.control.SetWriteDeadline(now.Add(p.left)) }

// WriteHeader moves the deadline for answers without a body. A blob that is verified before it is sent may have taken longer than a chunk.
func (p *Writer) WriteHeader(status int) {
	if status >= http.StatusOK { // not an informational one, RFC 9110 §15.2
		p.Status = status
		p.extend(time.Now())
	}
	p.ResponseWriter.WriteHeader(status)
}

// within lets send take what is left of the time of its chunk.
func (p *Writer) within(send func() (int64, error)) (int64, error) {
	began := time.Now()
	p.extend(began)
	n, err := send()
	p.left -= time.Since(began)
	p.Total += n
	if p.sent += n; p.sent >= Chunk {
		p.sent, p.left = 0, ChunkTimeout
	}
	return n, err
}

// Write also flushes: a download may bring nothing more for a while, and a machine should see that it comes.
func (p *Writer) Write(b []byte) (int, error) {
	n, err := p.within(func() (int64, error) {
		n, err := p.ResponseWriter.Write(b)
		_ = p.control.Flush() // it fails in tests of handlers
		return int64(n), err
	})
	return int(n), err
}

// ReadFrom sends a file in chunks. Each is a single io.LimitedReader of the file, because net/http uses sendfile(2) for nothing else.
// What is not a file goes through Write.
func (p *Writer) ReadFrom(src io.Reader) (total int64, err error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		return p.copy(src)
	}
	file, ok := limited.R.(*os.File)
	if !ok {
		return p.copy(src)
	}
	for limited.N > 0 {
		part := io.LimitedReader{R: file, N: min(Chunk, limited.N)}
		n, err := p.within(func() (int64, error) { return io.Copy(p.ResponseWriter, &part) })
		total += n
		limited.N -= n
		if err != nil || part.N > 0 {
			return total, err
		}
	}
	return total, nil
}

func (p *Writer) copy(src io.Reader) (int64, error) {
	_ = p.control.Flush() // the status and the length, before the first bytes are there
	return io.CopyBuffer(struct{ io.Writer }{p}, src, make([]byte, copyBuffer))
}
