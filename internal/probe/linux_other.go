//go:build !linux

package probe

import "errors"

func openPackets() (frames, error) { return nil, errors.ErrUnsupported }

func readEthtool(string) ethtoolInfo { return ethtoolInfo{} }

func endorsementKey() (string, error) { return "", errors.ErrUnsupported }
