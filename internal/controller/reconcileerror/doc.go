// Package reconcileerror gives errors a meaning for whoever reconciles: is it worth
// trying again soon (transient, the default), is something awaited that will
// wake us (Waiting), or must a person change something first (Terminal)?
//
// One place, Handle, turns that meaning into what controller-runtime needs, so
// that no controller invents its own way of retrying.
package reconcileerror
