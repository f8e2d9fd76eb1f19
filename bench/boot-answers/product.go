package main

import (
	"context"
	"errors"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/lab"
	"github.com/farrier-dev/farrier/bench/internal/load"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

// product is a running farrier up with a boot config for each machine.
type product struct {
	*lab.Lab
	address string
}

// startProduct starts a farrier up and tells it of machines. None of them is asked for: it would have booted.
func startProduct(ctx context.Context, binary string, machines int) (*product, error) {
	addresses, err := site.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	p := &product{address: addresses[0]}
	if p.Lab, err = lab.Start(ctx, binary, "--boot-address", p.address, "--boot-url", bootURL, "--boot-rate-limit", "0"); err != nil {
		return nil, err
	}
	err = p.CreateBoots(ctx, machines, func(i int) bootv1.IPXEBootConfigSpec {
		return bootv1.IPXEBootConfigSpec{SystemUUID: uuid(i), KernelURL: image + digest('a'), InitrdURL: image + digest('b'), SquashfsURL: image + digest('c')}
	})
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// fetchOne returns the script of a machine.
func (p *product) fetchOne(ctx context.Context, i int) ([]byte, error) {
	return load.Fetch(ctx, p.address, request(pathIPXE, i, nil))
}
