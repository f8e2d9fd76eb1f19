// Package show is what a person or a program gets to see of the demo: a picture that moves while
// it runs, and at its end a summary, timelines or one JSON object.
//
// Everything here is given what it shows and knows nothing of Kubernetes, BMCs or machines.
// From moving to final:
//
//	live.go        what package screen shows of a demo: Frames on a terminal, Transitions as lines elsewhere
//	frame.go       a Frame as lines that fit a terminal; rows.go chooses the rows if not all do
//	transition.go  one change, as a line
//	result.go      what came of the demo; its JSON form is documented there
//	summary.go     the same for people, in five lines
//	timeline.go    the same, step by step
//	units.go       times and sizes
package show
