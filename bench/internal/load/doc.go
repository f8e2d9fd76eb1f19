// Package load asks an HTTP server as fast as it answers, the way wrk does: a number
// of keep-alive connections, each with one request in flight.
//
// It parses of an answer only what it needs to find the next one, so that on a
// machine that runs both sides most of the time goes to the server.
package load
