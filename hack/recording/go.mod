// What records a command in a terminal as a picture that moves. It has a module of its own, so that nobody who builds Farrier gets what it requires.
module github.com/farrier-dev/farrier/hack/recording

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/hinshun/vt10x v0.0.0-20220301184237-5011da428d02
)
