//go:build !linux

package disk

import "errors"

// OpenForErase is for Linux.
func OpenForErase(Disk) (Device, error) { return nil, errors.ErrUnsupported }

// Inspect is for Linux.
func Inspect(Disk) (Device, error) { return nil, errors.ErrUnsupported }

// Release is for Linux.
func Release(string) error { return errors.ErrUnsupported }
