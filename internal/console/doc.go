// Package console lets people use the serial consoles of servers, over the SSH server of their BMCs.
//
// BMCs have few sessions, so there is one for each server that somebody watches, or that a Recorder records while it boots, and none for others. A Hub has these sessions. All viewers of a server see
// the same bytes, from the scroll-back on, and at most one of them writes. A viewer that does not read fast enough is dropped and holds up nobody.
// What people type never reaches the BMC's own command line: the keys that lead there are not passed on.
//
//   - make.go: how each make's console is entered and left. ssh.go, keys.go: a console over SSH.
//   - hub.go: the sessions. session.go: one of them, with reconnects. viewer.go: who watches. scrollback.go: what was there before.
//   - recorder.go: writes down what is printed in a boot.
//   - frame.go: what goes over the WebSocket. serve.go: its server's end. plain.go: what a console prints as plain text.
package console
