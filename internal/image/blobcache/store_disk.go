package blobcache

import "fmt"

// diskReserve is what the cache leaves of its disk to others: Farrier's store may be on it, and is worth more.
const diskReserve = 128 << 20

// leavesRoom refuses to grow on a disk that is nearly full. Nothing is evicted for that: who fills the disk would have it next, and the cache would be empty.
// The caller holds mu.
func (s *store) leavesRoom(n int64) error {
	left, err := s.space(s.dir)
	if err != nil {
		return nil // it is not known to be full
	}
	evicted := max(0, s.used+n-s.max)
	if need := uint64(max(0, n-evicted)) + diskReserve; left.Bytes < need {
		return fmt.Errorf("%w: its disk has %d MiB left, and %d MiB stay free", ErrCacheFull, left.Bytes>>20, diskReserve>>20)
	}
	return nil
}
