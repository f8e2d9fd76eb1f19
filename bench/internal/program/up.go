package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	farrierPackage = "github.com/farrier-dev/farrier/cmd/farrier"
	// upTimeout is how long farrier up may take until every part of it answers.
	upTimeout = 3 * time.Minute
)

// Up is a running farrier up.
type Up struct {
	*Program
	// Ready is what its ready line says, by key.
	Ready map[string]string
}

// StartUp starts farrier up and waits until every part of it answers. An empty binary is built into folder first.
func StartUp(ctx context.Context, binary, folder string, args ...string) (_ *Up, err error) {
	if binary == "" {
		if binary, err = Build(ctx, folder, farrierPackage); err != nil {
			return nil, err
		}
	}
	lines := make(chan string, 1)
	p, err := Start(ctx, binary, func(line string) { lines <- line }, append([]string{"up", "-o", "json"}, args...)...)
	if err != nil {
		return nil, err
	}
	select {
	case line := <-lines:
		up := &Up{Program: p}
		if up.Ready, err = readyLine(line); err == nil {
			return up, nil
		}
	case <-p.Exited():
		return nil, p.Err()
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(upTimeout):
		err = errors.New("farrier up is not ready in time")
	}
	return nil, errors.Join(err, p.Stop())
}

// readyLine reads the line with a JSON object that farrier up prints once every part of it answers.
func readyLine(line string) (map[string]string, error) {
	var at map[string]any
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		return nil, fmt.Errorf("ready line %q: %w", line, err)
	}
	ready := map[string]string{}
	for key, value := range at {
		ready[key] = fmt.Sprint(value)
	}
	return ready, nil
}
