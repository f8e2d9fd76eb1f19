// Package objectqueue makes the queues of controllers, and the options of controllers that go with them.
//
// It is controller-runtime's priority queue, whose ShutDown we do ourselves (queue.go): that of v0.24 may leave a worker waiting for ever, and with it
// a term that ends, or the process. v0.25 has mended it; with that version this room goes.
package objectqueue
