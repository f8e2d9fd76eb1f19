// Package content asks other servers for what profiles are made of.
//
// Nobody waits for an answer: whoever needs one looks it up (resolver.go), is told
// that there is none yet, and is told again when there is. Answers are refreshed in
// the background; while a server is away, or answers with an error, its last good
// answer stays.
//
// A URL is written by whoever may write a profile, and asked by a process that may
// reach more than they can. So only hosts that the operator has named are asked, no
// redirect is followed, and the address that a name resolves to must not be this host
// or its link unless exactly that was named (hosts.go).
package content
