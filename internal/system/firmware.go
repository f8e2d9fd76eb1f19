package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inbound/hostcheck"
)

const (
	// firmwareDir is the folder of the data directory for images of firmware.
	firmwareDir = "firmware"
	// defaultFirmwareCache holds a bundle for each of a few vendors.
	defaultFirmwareCache = 4 << 30
	// A BMC has headerTimeout to say what it fetches; how long it fetches is for the progress it makes.
	firmwareHeaderTimeout = 10 * time.Second
	firmwareMaxHeader     = 8 << 10
	firmwareShutdown      = 3 * time.Second
)

// checkFirmware reads what is said of images of firmware.
func (s *settings) checkFirmware() error {
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	if err := checkURLForBMCs(&s.FirmwareURL); err != nil {
		refuse("firmware-url", err)
	}
	if s.FirmwareAddress == "" {
		if s.FirmwareURL != "" {
			refuse("firmware-address", errors.New("is needed for BMCs to fetch images of firmware from"))
		}
	} else if _, _, err := net.SplitHostPort(s.FirmwareAddress); err != nil {
		refuse("firmware-address", err)
	} else if s.MaintenanceKinds == doneByOthers || s.ServerLifecycle == doneByOthers {
		refuse("firmware-address", errors.New("another program updates firmware, by --maintenance-kinds or --server-lifecycle, so that BMCs fetch nothing from Farrier"))
	}
	if s.FirmwareCacheSize <= 0 {
		refuse("firmware-cache-size", fmt.Errorf("%d is not above 0", s.FirmwareCacheSize))
	}
	return errors.Join(errs...)
}

// listenForFirmware opens the listener that BMCs fetch images from, if there is one, and finds out its URL.
func (s *System) listenForFirmware() error {
	if s.settings.FirmwareAddress == "" {
		return nil
	}
	listener, reached, err := s.listen("firmware-address", s.settings.FirmwareAddress, false)
	if err != nil {
		return err
	}
	s.firmwareListener = listener
	if s.FirmwareURL = s.settings.FirmwareURL; s.FirmwareURL == "" {
		s.FirmwareURL = reached
	}
	return nil
}

// newFirmwareImages makes the store of images. Each shard has one of its own.
func (t *term) newFirmwareImages() (err error) {
	s, dir := t.System, filepath.Join(t.settings.DataDir, firmwareDir)
	if t.shard != nil {
		dir = filepath.Join(dir, fmt.Sprintf("shard-%d", t.shard.Shard))
	}
	t.firmware, err = firmwareimage.New(firmwareimage.Options{
		Dir: dir, Limit: s.settings.FirmwareCacheSize, BaseURL: s.FirmwareURL, Key: s.keys.token, Clock: clock.RealClock{},
	})
	return err
}

// serveOwnFirmware gives BMCs the images of the term. Those of shards are served for all shards of the process.
func (t *term) serveOwnFirmware(ctx context.Context) error {
	if t.shard != nil {
		return nil
	}
	return t.serveFirmware(ctx, t.firmware)
}

// serveFirmware gives BMCs the images that they are told to fetch, if they may fetch any.
func (s *System) serveFirmware(ctx context.Context, images http.Handler) error {
	if s.settings.FirmwareAddress == "" {
		return nil
	}
	listener, err := s.openedForTerm(s.firmwareListener, "firmware-address", s.settings.FirmwareAddress)
	if err != nil {
		return err
	}
	server := inbound.Prepare(&http.Server{
		Handler:           hostcheck.Handler(images, hostcheck.Names(s.FirmwareURL)...),
		ReadHeaderTimeout: firmwareHeaderTimeout,
		ReadTimeout:       firmwareHeaderTimeout, // no request has a body
		IdleTimeout:       firmwareHeaderTimeout,
		MaxHeaderBytes:    firmwareMaxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // about clients that misbehave
	})
	return inbound.Serve(ctx, "images of firmware", server, s.callers.bmcs.Listener(listener), firmwareShutdown)
}
