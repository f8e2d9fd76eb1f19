package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/site"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/sim"
)

// verify counts what the BMCs were told, and then logs in to each with what is stored.
func (b *bench) verify(ctx context.Context) error {
	machines, _, err := b.Rack.Machines()
	if err != nil {
		return err
	}
	for _, m := range machines {
		b.found.Wrong += m.WrongPasswords
		b.found.MostWrong = max(b.found.MostWrong, m.WrongPasswords)
	}
	var locked, unknown atomic.Int64
	err = site.Each(ctx, b.config.Servers, func(ctx context.Context, i int) error {
		info := b.Rack.BMCs[i]
		passwords, err := b.stored(ctx, info.Name)
		if err != nil {
			return err
		}
		err = opens(ctx, info, passwords)
		e, _ := errors.AsType[*bmc.Error](err)
		switch {
		case err == nil:
			return nil
		case bmc.KindOf(err) != bmc.KindAuthentication:
			return fmt.Errorf("log in to %s: %w", info.Name, err)
		case strings.Contains(e.MessageID, "AccountLocked"):
			locked.Add(1)
		default:
			unknown.Add(1)
		}
		fmt.Fprintf(os.Stderr, "BMC %s refuses what is stored: %v\n", info.Name, err)
		return nil
	})
	b.found.Locked, b.found.Unknown = int(locked.Load()), int(unknown.Load())
	return err
}

// stored are the passwords that are stored for a BMC: its password, and the new one of a rotation under way.
func (b *bench) stored(ctx context.Context, name string) (passwords []bmc.Secret, _ error) {
	var obj metalv1.BMC
	if err := b.API.Get(ctx, client.ObjectKey{Name: name}, &obj); err != nil {
		return nil, fmt.Errorf("BMC %s: %w", name, err)
	}
	var secret metalv1.BMCSecret
	if err := b.API.Get(ctx, client.ObjectKey{Name: obj.Spec.BMCSecretRef.Name}, &secret); err != nil {
		return nil, fmt.Errorf("BMCSecret of BMC %s: %w", name, err)
	}
	for _, key := range []string{metalv1.BMCSecretPasswordKey, metalv1.BMCSecretNextPasswordKey} {
		if password, ok := secret.Data[key]; ok {
			passwords = append(passwords, bmc.Secret(password))
		}
	}
	return passwords, nil
}

// opens logs in with one password after the other, until one is right.
func opens(ctx context.Context, info sim.BMCInfo, passwords []bmc.Secret) (err error) {
	for _, password := range passwords {
		credentials := bmc.Credentials{Username: site.Username, Password: password}
		endpoint := bmc.Endpoint{Scheme: "http", Host: info.IP.String(), Port: info.Port}
		c := bmc.NewClient(endpoint, credentials, bmc.Options{Login: bmc.LoginOnce})
		_, err = c.SystemURIs(ctx)
		_ = c.Close(ctx)
		if bmc.KindOf(err) != bmc.KindAuthentication {
			return err
		}
	}
	return err
}
