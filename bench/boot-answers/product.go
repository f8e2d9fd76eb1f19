package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const (
	// recordTimeout is how long it may take until conditions tell of a boot, or the view knows a machine.
	recordTimeout = 2 * time.Minute
	recordEvery   = 500 * time.Millisecond
)

// product is a running farrier up with a boot config for each machine.
type product struct {
	*program.Up
	api     client.Client
	address string
	folder  string
}

// startProduct starts a farrier up and tells it of machines, as somebody does who has no Servers for them.
func startProduct(ctx context.Context, binary string, machines int) (_ *product, err error) {
	p := &product{}
	if p.folder, err = newFolder(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	addresses, err := site.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	p.address = addresses[0]
	p.Up, err = program.StartUp(ctx, binary, p.folder, "--data-dir", filepath.Join(p.folder, "data"), "--api-address", "127.0.0.1:0",
		"--boot-address", p.address, "--boot-url", bootURL, "--boot-rate-limit", "0")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.Ready["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // as fast as the API takes them
	if p.api, err = client.New(config, client.Options{Scheme: site.Scheme()}); err != nil {
		return nil, err
	}
	return p, p.create(ctx, machines)
}

// create makes the boot configs and waits until each is ready. None of their machines is asked for: it would have booted.
func (p *product) create(ctx context.Context, machines int) error {
	err := site.Each(ctx, machines, func(ctx context.Context, i int) error {
		boot := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machineName(i)}}
		boot.Spec.SystemUUID = uuid(i)
		boot.Spec.KernelURL, boot.Spec.InitrdURL, boot.Spec.SquashfsURL = image+digest('a'), image+digest('b'), image+digest('c')
		if err := p.api.Create(ctx, boot); err != nil {
			return fmt.Errorf("create %s: %w", boot.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.await(ctx, "ready", machines, func(list *bootv1.IPXEBootConfigList) (n int) {
		for i := range list.Items {
			if list.Items[i].Status.State == bootv1.IPXEBootConfigStateReady {
				n++
			}
		}
		return n
	})
}

// await waits until count finds so many boot configs.
func (p *product) await(ctx context.Context, what string, machines int, count func(*bootv1.IPXEBootConfigList) int) error {
	for end := time.Now().Add(recordTimeout); ; {
		var list bootv1.IPXEBootConfigList
		if err := p.api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		n := count(&list)
		if n >= machines {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d boot configs are %s after %v", n, machines, what, recordTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Exited():
			return p.Err()
		case <-time.After(recordEvery):
		}
	}
}

// recorded waits until the conditions of machines, from the first of them on, tell that they have booted, and returns when the API took the first
// and the last of those. The API tells it in whole seconds.
func (p *product) recorded(ctx context.Context, first, machines int) (from, until time.Time, err error) {
	err = p.await(ctx, "recorded", machines, func(list *bootv1.IPXEBootConfigList) (n int) {
		from, until = time.Time{}, time.Time{}
		for i := range list.Items {
			boot := &list.Items[i]
			if boot.Name < machineName(first) || boot.Name >= machineName(first+machines) || !apimeta.IsStatusConditionTrue(boot.Status.Conditions, bootv1.ConditionIPXEScriptFetched) {
				continue
			}
			n++
			at := written(boot)
			if from.IsZero() || at.Before(from) {
				from = at
			}
			if at.After(until) {
				until = at
			}
		}
		return n
	})
	return from, until, err
}

// machineName is the name of a machine's boot config. They are in the order of the machines.
func machineName(i int) string { return fmt.Sprintf("machine-%06d", i) }

// written is when the status of an object was last written.
func written(object client.Object) (at time.Time) {
	for _, fields := range object.GetManagedFields() {
		if fields.Subresource == "status" && fields.Time != nil && fields.Time.After(at) {
			at = fields.Time.Time
		}
	}
	return at
}

func (p *product) stop() error {
	var err error
	if p.Up != nil {
		err = p.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// fetchOne returns the script of a machine.
func (p *product) fetchOne(ctx context.Context, i int) ([]byte, error) {
	return load.Fetch(ctx, p.address, request(pathIPXE, i, nil))
}
