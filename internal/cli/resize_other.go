//go:build !unix

package cli

// resizes tells nothing: there is no signal for it here.
func resizes() (changed <-chan struct{}, stop func()) { return nil, func() {} }
