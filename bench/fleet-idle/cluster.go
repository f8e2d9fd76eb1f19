package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/bench/internal/program"
	manifests "github.com/farrier-dev/farrier/config"
	"github.com/farrier-dev/farrier/internal/controller/record"
	"github.com/farrier-dev/farrier/internal/controlplane/crds"
	"github.com/farrier-dev/farrier/internal/sim"
)

const (
	apiPackage = "github.com/farrier-dev/farrier/internal/controlplane/testapi/apiserver"
	namespace  = "farrier-system"
	// writers is how many objects are created at a time, before anything is measured.
	writers = 16
	// readyTimeout is how long the API may take to start.
	readyTimeout = time.Minute
)

// cluster is a Kubernetes API in a process of its own.
type cluster struct {
	client.Client
	process    *program.Program
	kubeconfig string
}

// startCluster starts the control plane alone, with the kinds of Farrier and its namespace.
func startCluster(ctx context.Context, binary, folder string) (*cluster, error) {
	c := &cluster{kubeconfig: filepath.Join(folder, "kubeconfig")}
	ready := make(chan struct{})
	var once sync.Once
	var err error
	c.process, err = program.Start(ctx, binary, func(line string) {
		if strings.HasPrefix(line, "ready ") {
			once.Do(func() { close(ready) })
		}
	}, "--data-dir", filepath.Join(folder, "data"), "--kubeconfig", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready:
	case <-c.process.Exited():
		return nil, c.process.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(readyTimeout):
		return nil, errors.New("the Kubernetes API is not ready in time")
	}
	return c, c.prepare(ctx)
}

func (c *cluster) prepare(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1
	definitions, err := manifests.CRDs()
	if err != nil {
		return err
	}
	if err := crds.Install(ctx, config, definitions, crds.Options{SingleServer: true}); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), metalv1.AddToScheme(scheme)); err != nil {
		return err
	}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

// populate creates what stands for a site that has been at work for long: every BMC with its credentials, and the
// record of an inspection of each server, so that the servers are Available and none has to be booted.
func (c *cluster) populate(ctx context.Context, bmcs []sim.BMCInfo, kinds []behaviour) error {
	content, err := record.Pack(map[string]string{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	next := make(chan int)
	for range writers {
		running.Go(func() {
			for i := range next {
				if err := c.create(ctx, objectsOf(bmcs[i], kinds[i], content)); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range bmcs {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	running.Wait()
	return context.Cause(ctx)
}

func (c *cluster) create(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

func objectsOf(info sim.BMCInfo, kind behaviour, content []byte) []client.Object {
	secret := &metalv1.BMCSecret{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	secret.Data = map[string][]byte{"username": []byte(username), "password": []byte(password)}
	bmc := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	bmc.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String(), MACAddress: info.MAC}
	bmc.Spec.BMCSecretRef.Name = info.Name
	bmc.Spec.Protocol = metalv1.Protocol{Name: "Redfish", Scheme: "http", Port: int32(info.Port)}
	if kind == refusing {
		bmc.Spec.Protocol.Port = refusingPort
	}
	server := serverOf(info)
	return []client.Object{secret, record.New(namespace, record.InspectionName(server), record.KindInspection, server, "bench", content), bmc}
}

func serverOf(info sim.BMCInfo) string { return info.Name + "-system-0" }

// available counts the Servers that are free for a claim.
func (c *cluster) available(ctx context.Context) (n int, err error) {
	var list metalv1.ServerList
	if err := c.List(ctx, &list); err != nil {
		return 0, fmt.Errorf("list Servers: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].Status.State == metalv1.ServerStateAvailable {
			n++
		}
	}
	return n, nil
}
