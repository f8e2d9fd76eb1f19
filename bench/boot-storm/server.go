package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/bench/internal/child"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image"
)

const roleBootServer = "boot-server"

// bootServerRequest starts the boot server, the first time, and asks what it has used, ever after.
type bootServerRequest struct {
	Registry, Folder string
	Machines         int
}

type bootServerAnswer struct {
	Address string
	program.Usage
}

func serveBootServer(ctx context.Context) error {
	address := ""
	return child.Serve(func(r bootServerRequest) (a bootServerAnswer, err error) {
		if address == "" {
			if address, err = listen(ctx, r); err != nil {
				return a, err
			}
		}
		a.Address = address
		a.Usage, err = program.UsageOf(os.Getpid())
		return a, err
	})
}

func listen(ctx context.Context, r bootServerRequest) (string, error) {
	blobs, err := image.NewBlobs(image.Options{
		AllowedRegistries: []string{r.Registry}, PlainHTTP: []string{r.Registry}, Dir: r.Folder, Logger: logr.Discard(),
	})
	if err != nil {
		return "", err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	url := "http://" + l.Addr().String()
	view := bootview.New()
	for i := range r.Machines {
		e, err := machine(i, url)
		if err != nil {
			return "", err
		}
		view.Put(e)
	}
	view.SetSynced(true)
	s, err := bootserver.New(bootserver.Config{
		View: view, Blobs: blobs, BootURL: url, Deliver: func(bootserver.Delivery) {}, Logger: logr.Discard(),
	})
	if err != nil {
		return "", err
	}
	go func() {
		if err := errors.Join(s.Serve(ctx, l), blobs.Close()); err != nil {
			fmt.Fprintln(os.Stderr, "boot-server:", err)
			os.Exit(1)
		}
	}()
	return l.Addr().String(), nil
}

// machine i, as the controllers would put it: claimed, its boot ordered.
func machine(i int, url string) (bootview.Entry, error) {
	attempt := bootview.Attempt{ID: fmt.Sprintf("attempt-%d", i), Token: token(i), Open: true}
	script, err := bootview.DefaultScript(bootview.DefaultScriptParams{
		BootURL: url, KernelURL: url + "/image?layerDigest=kernel", InitrdURL: url + "/image?layerDigest=initramfs", Attempt: attempt,
	})
	if err != nil {
		return bootview.Entry{}, fmt.Errorf("machine %d: %w", i, err)
	}
	ignition := fmt.Appendf(nil, `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,machine-%06d"}}]}}`, i)
	return bootview.Entry{
		Name: fmt.Sprintf("IPXEBootConfig/default/machine-%06d", i), UUID: uuid(i),
		MACs: []string{fmt.Sprintf("02:fa:44:%02x:%02x:%02x", i>>16&0xff, i>>8&0xff, i&0xff)},
		Rank: bootview.Current, Script: script, Attempt: attempt,
		Ignition: &bootview.Ignition{Payload: ignition, ContentType: "application/json"},
	}, nil
}

func uuid(i int) string  { return fmt.Sprintf("4c4c4544-0043-3510-8052-%012x", i) }
func token(i int) string { return fmt.Sprintf("%043d", i) } // as long as an HMAC-SHA256 in base64url
