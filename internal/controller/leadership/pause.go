package leadership

import "time"

const (
	// Lease is the Lease in the manager's namespace that the one process that acts holds.
	Lease = "farrier-manager"
	// BootLease is that of processes that only deliver boots.
	BootLease = "farrier-manager-boot"

	// Pause is the holder of both while nobody may act. A pause has no end of its own: somebody has to release it.
	Pause = "farrier-paused"
	// PauseTakes is how long a pause takes: what acted when the Lease was taken has ended by then.
	PauseTakes = 15 * time.Second
)
