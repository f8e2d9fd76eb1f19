package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Admin command opcodes (NVM Express Base Specification 2.0, figure 138).
const (
	nvmeGetLogPage = 0x02
	nvmeIdentify   = 0x06
	nvmeFormat     = 0x80
	nvmeSanitize   = 0x84
)

const (
	nvmeAllNamespaces   = 0xffffffff
	nvmeIdentifyBytes   = 4096
	sanitizeStatusPage  = 0x81
	sanitizeStatusBytes = 512
	nvmeAdminTimeout    = time.Minute
)

// Sanitize actions (§5.24, CDW10 bits 2:0) and the bits beside them.
const (
	sanitizeExitFailure  = 0x1
	sanitizeBlockErase   = 0x2
	sanitizeCryptoErase  = 0x4
	sanitizeUnrestricted = 1 << 3 // AUSE: a failure may be left without another sanitize
)

// Secure erase settings of Format NVM (§5.14, CDW10 bits 11:9).
const (
	formatUserDataErase = 1
	formatCryptoErase   = 2
)

// NVMeCommand is one admin command.
type NVMeCommand struct {
	Opcode                                   uint8
	NSID                                     uint32
	CDW10, CDW11, CDW12, CDW13, CDW14, CDW15 uint32
	// Data is sent or filled, as the two lowest bits of the opcode say (§4.2).
	Data    []byte
	Timeout time.Duration
}

// NVMeStatusError is a completion that is not a success.
type NVMeStatusError struct {
	Opcode uint8
	// Status is the status field without its phase bit: code in bits 7:0, type in 10:8.
	Status uint16
}

func (e *NVMeStatusError) Error() string {
	return fmt.Sprintf("NVMe command %#02x: status code type %#x, code %#02x", e.Opcode, e.Status>>8&7, e.Status&0xff)
}

// nvmeFacts is what Identify tells about erasing.
type nvmeFacts struct {
	sanitizeBlock, sanitizeCrypto bool
	format, formatCrypto          bool
	formatReachesAll              bool   // an erase of one namespace is one of all
	formatKeep                    uint32 // CDW10 that keeps the format as it is
}

// askNVMe reads the controller's and the namespace's data structures (§5.17).
func askNVMe(ctx context.Context, c NVMeController, namespace uint32) (*nvmeFacts, error) {
	controller := make([]byte, nvmeIdentifyBytes)
	if err := c.Admin(ctx, NVMeCommand{Opcode: nvmeIdentify, CDW10: 0x01, Data: controller, Timeout: nvmeAdminTimeout}); err != nil {
		return nil, fmt.Errorf("identify controller: %w", err)
	}
	ns := make([]byte, nvmeIdentifyBytes)
	if err := c.Admin(ctx, NVMeCommand{Opcode: nvmeIdentify, NSID: namespace, CDW10: 0x00, Data: ns, Timeout: nvmeAdminTimeout}); err != nil {
		return nil, fmt.Errorf("identify namespace %d: %w", namespace, err)
	}
	return parseNVMe(controller, ns), nil
}

func parseNVMe(controller, ns []byte) *nvmeFacts {
	oacs := binary.LittleEndian.Uint16(controller[256:])
	sanicap := binary.LittleEndian.Uint32(controller[328:])
	fna := controller[524]
	f := &nvmeFacts{
		sanitizeCrypto: sanicap&1 != 0, sanitizeBlock: sanicap&2 != 0,
		format: oacs&2 != 0, formatCrypto: fna&4 != 0,
		// Bit 0: the format is of all namespaces; bit 1: the erase is.
		formatReachesAll: fna&3 != 0,
	}
	// FLBAS has the index of the format in bits 3:0 and 6:5, and in bit 4 where
	// metadata goes; DPS has the type of protection and its place. Format NVM sets them
	// anew, so what is there is said again (§5.14, figure 189).
	flbas, dps := uint32(ns[26]), uint32(ns[29])
	f.formatKeep = flbas&0xf | flbas&0x10 | (dps&7)<<5 | (dps>>3&1)<<8 | (flbas>>5&3)<<12
	return f
}

func (f *nvmeFacts) methods(whole bool) (list []Method, notes []string) {
	switch {
	case !f.sanitizeBlock && !f.sanitizeCrypto:
	case !whole:
		notes = append(notes, "sanitize would erase namespaces that stay")
	default:
		if f.sanitizeBlock {
			list = append(list, MethodSanitizeBlock)
		}
		if f.sanitizeCrypto {
			list = append(list, MethodSanitizeCrypto)
		}
	}
	switch {
	case !f.format:
	case f.formatReachesAll && !whole:
		notes = append(notes, "format would erase namespaces that stay")
	default:
		if f.formatCrypto {
			list = append(list, MethodFormatCrypto)
		}
		list = append(list, MethodFormatUserData)
	}
	return list, notes
}

// reachesAll says that a method erased every disk of the group at once.
func (f *nvmeFacts) reachesAll(m Method) bool {
	switch m {
	case MethodSanitizeBlock, MethodSanitizeCrypto:
		return true
	case MethodFormatCrypto, MethodFormatUserData:
		return f.formatReachesAll
	}
	return false
}

func (f *nvmeFacts) formatNVM(ctx context.Context, c NVMeController, namespace uint32, erase uint32) error {
	if f.formatReachesAll {
		namespace = nvmeAllNamespaces
	}
	return c.Admin(ctx, NVMeCommand{Opcode: nvmeFormat, NSID: namespace, CDW10: f.formatKeep | erase<<9, Timeout: hardwareTime(ctx)})
}

// sanitizeStatus is the beginning of log page 81h (§5.16.1.20).
type sanitizeStatus struct {
	progress uint16 // of 65536
	state    uint16 // SSTAT bits 2:0
}

// The states of a sanitize operation.
const (
	sanitizeNever       = 0
	sanitizeDone        = 1
	sanitizeRunning     = 2
	sanitizeFailed      = 3
	sanitizeDoneAnyway  = 4 // done, and deallocated although that was not asked for
	sanitizeLogDwords   = sanitizeStatusBytes/4 - 1
	sanitizeStateFilter = 7
)

func readSanitizeStatus(ctx context.Context, c NVMeController) (sanitizeStatus, error) {
	page := make([]byte, sanitizeStatusBytes)
	err := c.Admin(ctx, NVMeCommand{
		Opcode: nvmeGetLogPage, NSID: nvmeAllNamespaces, CDW10: sanitizeLogDwords<<16 | sanitizeStatusPage,
		Data: page, Timeout: nvmeAdminTimeout,
	})
	if err != nil {
		return sanitizeStatus{}, fmt.Errorf("sanitize status: %w", err)
	}
	return sanitizeStatus{
		progress: binary.LittleEndian.Uint16(page),
		state:    binary.LittleEndian.Uint16(page[2:]) & sanitizeStateFilter,
	}, nil
}

var errSanitizeFailed = errors.New("the controller says that the sanitize operation failed")

// sanitize starts an operation and waits for its end. One that an agent before us began is
// ended first: the controller takes no other command that erases until it is.
func (s *session) sanitize(ctx context.Context, c NVMeController, action uint32) error {
	if st, err := readSanitizeStatus(ctx, c); err != nil {
		return err
	} else if st.state == sanitizeRunning {
		s.log.Info("another sanitize operation is running, waiting for its end")
		if _, err := s.awaitSanitize(ctx, c); err != nil {
			return err
		}
	}
	err := c.Admin(ctx, NVMeCommand{Opcode: nvmeSanitize, CDW10: action | sanitizeUnrestricted, Timeout: nvmeAdminTimeout})
	if err != nil {
		return err
	}
	st, err := s.awaitSanitize(ctx, c)
	switch {
	case err != nil:
		return err
	case st.state == sanitizeFailed:
		// Without leaving the failure mode no other method would work (§8.21).
		exit := c.Admin(ctx, NVMeCommand{Opcode: nvmeSanitize, CDW10: sanitizeExitFailure, Timeout: nvmeAdminTimeout})
		return errors.Join(errSanitizeFailed, exit)
	case st.state != sanitizeDone && st.state != sanitizeDoneAnyway:
		return fmt.Errorf("sanitize ended in state %d", st.state)
	}
	return nil
}

// awaitSanitize polls until nothing runs any more.
func (s *session) awaitSanitize(ctx context.Context, c NVMeController) (sanitizeStatus, error) {
	for {
		st, err := readSanitizeStatus(ctx, c)
		if err != nil || st.state != sanitizeRunning {
			return st, err
		}
		s.progress(int64(st.progress), 1<<16)
		if err := s.sleep(ctx, s.poll); err != nil {
			return st, err
		}
	}
}

// hardwareTime bounds a command that erases by itself: the time that is left.
func hardwareTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(min(time.Until(deadline), longestHardwareEraseWait), time.Second)
	}
	return longestHardwareEraseWait
}
