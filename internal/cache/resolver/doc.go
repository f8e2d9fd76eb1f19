// Package resolver finds things out in the background.
//
// Nobody waits for an answer: Lookup returns what is known, Subscribe tells when that changes, Forget ends the interest. A resolver makes
// a bounded number of attempts at once; it makes one attempt for a key however many ask for it; after a failure it tries again with
// growing pauses, and the last good answer stays; after a success it asks again when the answer is due to be refreshed. Queue and back-off
// are those of client-go's workqueue, without anything of Kubernetes' API.
package resolver
