package console

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// recordFor is how long the console of a boot is recorded: the power-on self test of a large machine takes ten minutes.
	recordFor = 15 * time.Minute
	// maxRecordings is how many consoles are recorded at a time; the other sessions are for people.
	maxRecordings = 32
	// maxLines bounds the lines of a boot that are written as they come, and lastLines those at its end that are written after it.
	maxLines, lastLines = 150, 50
	// maxLine is where a line is cut that does not end.
	maxLine = 1 << 10
)

// tokens are those of boot attempts in URLs, which iPXE and kernels print, and with which ignition can be read while the attempt is open.
var tokens = regexp.MustCompile(`(?i)([?&]token=|%3ftoken%3d|%26token%3d)[^&\s"']+`)

// Line is what a console printed in a boot, without what controls terminals. Left is how many lines before it are left out.
type Line struct {
	Server, Attempt, Text string
	Time                  time.Time
	Left                  int
}

// Recorder has the consoles of machines that boot written down.
type Recorder struct {
	Hub    *Hub
	Clock  clock.WithTicker
	Logger logr.Logger
	// Write is told of each line. It must not wait.
	Write func(Line)

	mu      sync.Mutex
	ended   bool
	running map[string]*recording
	group   sync.WaitGroup
}

// recording is that of one boot.
type recording struct {
	*Recorder
	server, attempt string
	end             context.CancelFunc

	began   bool // what was printed before it is past
	part    []byte
	written int
	last    []Line
	left    int
}

// Begin records the console of a server from now on, for the boot attempt. It does not wait. While too many are recorded it does nothing.
func (r *Recorder) Begin(server, attempt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.running[server]
	switch {
	case r.ended, old != nil && old.attempt == attempt:
		return
	case old != nil:
		old.end()
	case len(r.running) >= maxRecordings:
		r.Logger.V(1).Info("console not recorded, because too many are", "name", server)
		return
	}
	ctx, end := context.WithCancel(context.Background())
	one := &recording{Recorder: r, server: server, attempt: attempt, end: end}
	if r.running == nil {
		r.running = map[string]*recording{}
	}
	r.running[server] = one
	r.group.Go(func() {
		defer r.forget(one)
		one.run(ctx)
	})
}

func (r *Recorder) forget(one *recording) {
	one.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[one.server] == one {
		delete(r.running, one.server)
	}
}

// Run ends all recordings when ctx ends, and returns when they have ended.
func (r *Recorder) Run(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.ended = true
	for _, one := range r.running {
		one.end()
	}
	r.mu.Unlock()
	r.group.Wait()
	return nil
}

func (r *recording) run(ctx context.Context) {
	timer := r.Clock.NewTimer(recordFor)
	defer timer.Stop()
	r.group.Go(func() {
		select {
		case <-timer.C():
			r.end()
		case <-ctx.Done():
		}
	})
	viewer, err := r.Hub.Join(ctx, r.server, "the logbook", false, false)
	if err == nil {
		err = r.read(ctx, viewer)
		viewer.Close()
		r.finish()
	}
	if ctx.Err() == nil {
		r.Logger.V(1).Info("console not recorded", "name", r.server, "error", err)
	}
}

// read takes what the console prints until it, or ctx, ends.
func (r *recording) read(ctx context.Context, viewer *Viewer) error {
	for {
		m, err := viewer.Next(ctx)
		if err != nil {
			return err
		}
		if m.Control != nil {
			r.began = true
		} else if r.began {
			r.printed(m.Data)
		}
	}
}

// printed cuts what was printed into lines.
func (r *recording) printed(p []byte) {
	for _, b := range p {
		if b != '\n' {
			r.part = append(r.part, b)
		}
		if b == '\n' || len(r.part) >= maxLine {
			r.line()
		}
	}
}

// line writes a line, or remembers it while there are too many.
func (r *recording) line() {
	text := tokens.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(Plain(string(r.part)), "\t", " ")), "${1}[redacted]")
	r.part = r.part[:0]
	if text == "" {
		return
	}
	l := Line{Server: r.server, Attempt: r.attempt, Text: text, Time: r.Clock.Now()}
	if r.written < maxLines {
		r.written++
		r.Write(l)
		return
	}
	if len(r.last) == lastLines {
		r.last, r.left = r.last[1:], r.left+1
	}
	r.last = append(r.last, l)
}

// finish writes the end of a boot that printed a lot.
func (r *recording) finish() {
	r.line()
	for i, l := range r.last {
		if i == 0 {
			l.Left = r.left
		}
		r.Write(l)
	}
}
