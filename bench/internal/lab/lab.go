package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

// Lab is a running farrier up.
type Lab struct {
	*program.Up
	API    client.Client
	folder string
}

// Start starts a farrier up with an empty store and further flags. An empty binary is built from this tree.
func Start(ctx context.Context, binary string, args ...string) (_ *Lab, err error) {
	l := &Lab{}
	if l.folder, err = os.MkdirTemp("", "farrier-lab-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Stop())
		}
	}()
	l.Up, err = program.StartUp(ctx, binary, l.folder, append([]string{"--data-dir", filepath.Join(l.folder, "data"), "--api-address", "127.0.0.1:0"}, args...)...)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.Ready["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // as fast as the API takes them
	l.API, err = client.New(config, client.Options{Scheme: site.Scheme()})
	return l, err
}

// Stop ends it and removes what it has stored.
func (l *Lab) Stop() error {
	var err error
	if l.Up != nil {
		err = l.Up.Stop()
	}
	return errors.Join(err, os.RemoveAll(l.folder))
}
