package profile

import (
	"context"
	"errors"
	"fmt"
)

// What a script may cost, whoever wrote it. Terms and depth are counted when it is compiled: nothing in it repeats, so a rendering
// has at most as many steps. The others are counted while it is rendered. With them a rendering takes less than ten milliseconds of a
// processor and [MaxRendering] bytes.
const (
	// MaxTerms bounds the actions of a script and their arguments, MaxPipe the commands of one pipe, and MaxDepth how many decisions or
	// parentheses are inside one another.
	MaxTerms = 8192
	MaxPipe  = 8
	MaxDepth = 32
	// MaxValue bounds, in bytes, each value between two functions, and each text that is inserted.
	MaxValue = MaxScript
	// MaxWork bounds what all functions of one rendering are given and give, in bytes.
	MaxWork = 256 << 10
	// MaxRendering is what one rendering takes of memory at most, in bytes: the work, three times the longest value, which is how
	// much urlquery can make of it, and the script, which grows in steps.
	MaxRendering = MaxWork + 3*MaxValue + 4*MaxScript
)

var (
	errTooLong = fmt.Errorf("the rendered script is longer than %d bytes", MaxScript)
	errWork    = fmt.Errorf("its functions are given and give more than %d bytes", MaxWork)
)

// scriptError is an error of the script, which was compiled and cannot be rendered for some machine.
type scriptError struct{ error }

func (e scriptError) Unwrap() error { return e.error }

// rendering is the work on one script for one machine.
type rendering struct {
	ctx   context.Context
	label func(key string) string
	url   func(id string) string
	out   []byte
	start int // of the script in out
	// steps and work are what was done so far.
	steps, work int
}

// step counts a step and ends the rendering of a caller who is gone.
func (r *rendering) step() error {
	r.steps++
	return r.ctx.Err()
}

// spend counts the bytes of values that functions are given, or give.
func (r *rendering) spend(bytes int) error {
	if r.work += bytes; r.work > MaxWork {
		return scriptError{errWork}
	}
	return nil
}

func (r *rendering) write(text string) error {
	if len(r.out)-r.start+len(text) > MaxScript {
		return scriptError{errTooLong}
	}
	r.out = append(r.out, text...)
	return nil
}

// ofScript reports whether an error is one of the script, which its author is to be told.
func ofScript(err error) bool {
	_, ok := errors.AsType[scriptError](err)
	return ok
}
