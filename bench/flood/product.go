package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	// victim is the machine that is measured.
	victim       = "5a5a5a5a-0000-4000-8000-000000000001"
	readyTimeout = 3 * time.Minute
)

// product is a running farrier up.
type product struct {
	*program.Up
	folder string
}

func startProduct(ctx context.Context, c config) (_ *product, err error) {
	p := &product{}
	if p.folder, err = os.MkdirTemp("", "farrier-flood-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	addresses, err := site.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	p.Up, err = program.StartUp(ctx, c.Binary, p.folder,
		"--data-dir", filepath.Join(p.folder, "data"), "--sim", fmt.Sprint(c.Servers), "--sim-address", "0.0.0.0:0", "--registry-address", "127.0.0.1:0",
		"--api-address", "127.0.0.1:0", "--boot-address", addresses[0], "--boot-url", "http://"+addresses[0], "--boot-tls-address", addresses[1], "--bmc-events-address", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.Ready["boot-tls"] = "https://" + addresses[1]
	return p, p.createVictim(ctx)
}

// createVictim makes a boot config by hand, as somebody does who has no Server for a machine, and waits until it is served.
func (p *product) createVictim(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", p.Ready["kubeconfig"])
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: site.Scheme()})
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "victim"}
	boot := &bootv1.IPXEBootConfig{ObjectMeta: meta}
	boot.Spec.SystemUUID = victim
	boot.Spec.KernelURL, boot.Spec.InitrdURL = "http://boot.example/kernel", "http://boot.example/initrd"
	boot.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: meta.Name}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"ignition": []byte(`{"ignition":{"version":"3.4.0"}}`)}}
	for _, object := range []client.Object{secret, boot} {
		if err := api.Create(ctx, object); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(readyTimeout)
	for {
		err := askOnce(ctx, p.boot(), machineAddress)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the machine has no script: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// address is host:port of a URL of the ready line.
func (p *product) address(key string) (string, bool) {
	_, address, found := strings.Cut(p.Ready[key], "://")
	return address, found
}

func (p *product) boot() string {
	address, _ := p.address("boot")
	return address
}

func (p *product) stop() error {
	var err error
	if p.Up != nil {
		err = p.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}
