package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	"github.com/farrier-dev/farrier/bench/internal/site"
)

const startTimeout = 3 * time.Minute

// product is a running farrier up.
type product struct{ *program.Up }

// startProduct starts farrier up with the known machines.
func startProduct(ctx context.Context, c config, folder string) (*product, error) {
	if err := os.WriteFile(filepath.Join(folder, "snponly.efi"), []byte("a boot program"), 0o600); err != nil {
		return nil, err
	}
	boot := net.JoinHostPort(serverAddress, "8082")
	up, err := program.StartUp(ctx, c.Binary, folder,
		"--data-dir", filepath.Join(folder, "data"), "--api-address", "127.0.0.1:0", "--boot-address", boot, "--boot-url", "http://"+boot, "--boot-files", folder,
		"--dhcp=server", "--dhcp-interface="+serverLink, "--dhcp-range=10.9.1.0-10.9.250.255")
	if err != nil {
		return nil, err
	}
	p := &product{up}
	if err := createKnown(ctx, c.Known, p.Ready["kubeconfig"]); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	if err := awaitKnown(ctx, c.Known, "http://"+boot); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// awaitKnown waits until the boot server knows every machine.
func awaitKnown(ctx context.Context, machines int, boot string) error {
	for n, end := 0, time.Now().Add(startTimeout); n < machines; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, boot+"/ipxe/"+known(n).text(), http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			n++
			continue
		}
		if time.Now().After(end) {
			return fmt.Errorf("machine %d has no script: %s", n, response.Status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond): // the machine is not known yet, or too many were asked about within a second
		}
	}
	return nil
}

// createKnown makes a boot config for each known machine.
func createKnown(ctx context.Context, machines int, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // as fast as the API takes them
	api, err := client.New(config, client.Options{Scheme: site.Scheme()})
	if err != nil {
		return err
	}
	return site.Each(ctx, machines, func(ctx context.Context, n int) error {
		boot := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("known-%05d", n)}}
		boot.Spec.SystemUUID = known(n).text()
		boot.Spec.KernelURL, boot.Spec.InitrdURL = "http://boot.example/kernel", "http://boot.example/initrd"
		if err := api.Create(ctx, boot); err != nil {
			return fmt.Errorf("create %s: %w", boot.Name, err)
		}
		return nil
	})
}
