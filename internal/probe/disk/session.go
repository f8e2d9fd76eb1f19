package disk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// session is the wiping of one disk, from opening to closing it.
type session struct {
	disk  Disk
	mode  inspection.CleanMode
	log   logr.Logger
	clock clock.Clock
	poll  time.Duration

	dev        Device
	facts      facts
	samples    []sample
	signatures []Extent

	started time.Time
	method  Method
	notes   []string
	told    int64 // percent
}

// prepare opens the disk and learns what it can and what is on it. Nothing is written.
func (s *session) prepare(ctx context.Context, src Source) error {
	if err := checkMode(s.mode); err != nil {
		return err
	}
	if s.disk.SizeBytes == 0 {
		return errors.New("the disk reports no capacity")
	}
	dev, err := src.OpenForErase(ctx, s.disk)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	s.dev = dev
	if s.mode == inspection.CleanFull {
		s.facts, s.notes = learn(ctx, s.disk, dev)
		if s.samples, err = takeSamples(ctx, dev); err != nil {
			return err
		}
	}
	s.signatures = signatureExtents(dev.Size(), append(readPartitions(dev), s.disk.Partitions...))
	return nil
}

// learn asks the disk what it can. A disk that does not answer has fewer methods.
func learn(ctx context.Context, d Disk, dev Device) (f facts, notes []string) {
	var err error
	if c, ok := dev.(NVMeController); ok && d.Namespace != 0 {
		if f.nvme, err = askNVMe(ctx, c, d.Namespace); err != nil {
			notes = append(notes, err.Error())
		}
	}
	if t, ok := dev.(SCSITarget); ok && d.ATA {
		if f.ata, err = askATA(ctx, t); err != nil {
			notes = append(notes, err.Error())
		}
	}
	_, f.zeros = dev.(Zeroer)
	f.zeros = f.zeros && d.WriteZeroes
	return f, notes
}

// erasure is what a command did to all disks of a group.
type erasure struct {
	method Method
	by     string
}

// wipe takes one method after another until one works, then sees to the metadata: what
// a hardware erase leaves is not defined, and may look like a signature.
func (s *session) wipe(ctx context.Context, whole bool, done *erasure) error {
	list, notes := methods(s.mode, s.disk, s.facts, whole)
	s.notes = append(s.notes, notes...)
	if err := s.erase(ctx, list, done); err != nil {
		return err
	}
	if s.method != MethodMetadata {
		if err := s.wipeMetadata(ctx); err != nil {
			return fmt.Errorf("metadata after %s: %w", s.method, err)
		}
	}
	// The content is gone all the same; only names of partitions that no longer are
	// there stay until the machine is turned off.
	if err := s.dev.RereadPartitions(); err != nil {
		s.notes = append(s.notes, "reread partition table: "+err.Error())
	}
	return nil
}

func (s *session) erase(ctx context.Context, list []Method, done *erasure) error {
	if done.method != "" {
		if err := s.checkGone(ctx, false); err == nil {
			s.method = done.method
			s.notes = append(s.notes, "erased together with "+done.by)
			return nil
		}
	}
	var failed []error
	for _, m := range list {
		if err := context.Cause(ctx); err != nil {
			return errors.Join(append(failed, err)...)
		}
		s.method, s.told = m, 0
		s.log.Info("wiping disk", "method", m)
		err := s.run(ctx, m)
		if err == nil && m != MethodMetadata {
			err = s.checkGone(ctx, m.zeroes())
		}
		if err == nil {
			for _, f := range failed {
				s.notes = append(s.notes, f.Error())
			}
			if s.facts.nvme != nil && s.facts.nvme.reachesAll(m) {
				*done = erasure{m, s.disk.Path}
			}
			return nil
		}
		err = fmt.Errorf("%s: %w", m, err)
		failed = append(failed, err)
		s.log.Info("wipe method failed", "method", m, "error", err)
	}
	return errors.Join(failed...)
}

func (s *session) run(ctx context.Context, m Method) error {
	switch m {
	case MethodMetadata:
		return s.wipeMetadata(ctx)
	case MethodOverwrite:
		return s.overwrite(ctx)
	case MethodDiscard, MethodWriteZeroes:
		z, ok := s.dev.(Zeroer)
		switch {
		case !ok:
			return errors.ErrUnsupported
		case m == MethodDiscard:
			return s.command(ctx, z.Punch)
		}
		return s.command(ctx, z.ZeroOut)
	case MethodATAErase, MethodATAEnhancedErase:
		if t, ok := s.dev.(SCSITarget); ok {
			return s.facts.ata.secureErase(ctx, t, m == MethodATAEnhancedErase)
		}
		return errors.ErrUnsupported
	}
	if c, ok := s.dev.(NVMeController); ok {
		return s.runNVMe(ctx, c, m)
	}
	return errors.ErrUnsupported
}

func (s *session) runNVMe(ctx context.Context, c NVMeController, m Method) error {
	switch m {
	case MethodSanitizeBlock:
		return s.sanitize(ctx, c, sanitizeBlockErase)
	case MethodSanitizeCrypto:
		return s.sanitize(ctx, c, sanitizeCryptoErase)
	case MethodFormatCrypto:
		return s.facts.nvme.formatNVM(ctx, c, s.disk.Namespace, formatCryptoErase)
	case MethodFormatUserData:
		return s.facts.nvme.formatNVM(ctx, c, s.disk.Namespace, formatUserDataErase)
	}
	return errors.ErrUnsupported
}

// finish closes the disk and writes its record.
func (s *session) finish(err error) inspection.DiskCleanup {
	if s.dev != nil {
		if closeErr := s.dev.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close: %w", closeErr))
		}
	}
	record := s.record(inspection.CleanedOK)
	if err != nil {
		record.Result, record.Error = inspection.CleanedFailed, oneLine(err)
		s.log.Error(err, "disk is not clean", "method", s.method)
	} else {
		s.log.Info("disk is clean", "method", s.method, "seconds", record.Seconds)
	}
	return record
}

func (s *session) record(result string) inspection.DiskCleanup {
	return inspection.DiskCleanup{
		Path: s.disk.Path, Serial: s.disk.Serial, WWID: s.disk.WWID, Method: string(s.method), Result: result,
		Seconds: s.clock.Since(s.started).Seconds(), Note: strings.Join(s.notes, "; "),
	}
}

// oneLine is for records, which are shown in tables; errors.Join puts lines.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// progress tells each tenth of the way once.
func (s *session) progress(done, of int64) {
	percent := int64(float64(done) / float64(of) * 100)
	if percent/10 > s.told/10 {
		s.log.Info("wiping disk", "method", s.method, "percent", percent)
		s.told = percent
	}
}

func (s *session) sleep(ctx context.Context, d time.Duration) error {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
