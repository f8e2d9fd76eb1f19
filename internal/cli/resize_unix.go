//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes tells when the size of the terminal changes, until stop is called.
func resizes() (changed <-chan struct{}, stop func()) {
	signals, out, done := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
				select {
				case out <- struct{}{}:
				default:
				}
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(done)
	}
}
