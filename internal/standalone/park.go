package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/system"
)

const (
	// restoredFile marks a restored data directory whose servers are not parked yet. It holds the time of the backup.
	restoredFile = "restored"
	// serversAPage is how many servers are listed at a time.
	serversAPage = 500
)

// parkRestored parks every server of a store that was restored, before anybody looks at one: what happened to machines after the backup is
// unknown, and a server that was free or dirty then may run for somebody now. No machine is asked to shut down for it.
//
// That is done through an API of its own, without admission, whose rules need the controllers' caches.
func parkRestored(ctx context.Context, dataDir string, logger logr.Logger) (err error) {
	file := filepath.Join(dataDir, restoredFile)
	backupTime, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	kubeconfigDir, err := os.MkdirTemp("", "farrier-restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(kubeconfigDir)
	plane, err := controlplane.Start(ctx, controlplane.Options{
		DataDir: dataDir, KubeconfigPath: filepath.Join(kubeconfigDir, "kubeconfig"), Address: "127.0.0.1:0", Logger: logger.WithName("api"),
	})
	if err != nil {
		return err
	}
	servers, err := parkAll(ctx, plane.RESTConfig(), time.Now())
	if err := errors.Join(err, plane.Stop()); err != nil {
		return err
	}
	logger.Info("all servers are parked, because the store was restored: unpark those whose machines you have looked at", "since", string(backupTime), "count", servers)
	return os.Remove(file)
}

// parkAll parks all servers from now on, and returns how many there are.
func parkAll(ctx context.Context, config *rest.Config, now time.Time) (servers int, err error) {
	api, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return 0, err
	}
	for next := ""; ; {
		var page metalv1.ServerList
		if err := api.List(ctx, &page, client.Limit(serversAPage), client.Continue(next)); err != nil {
			return servers, err
		}
		for i := range page.Items {
			if err := park(ctx, api, &page.Items[i], now); err != nil {
				return servers, fmt.Errorf("server %s: %w", page.Items[i].Name, err)
			}
			servers++
		}
		if next = page.Continue; next == "" {
			return servers, nil
		}
	}
}

// park parks a server without a shutdown, unless it is parked already.
func park(ctx context.Context, api client.Client, server *metalv1.Server, now time.Time) error {
	if server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue {
		return nil
	}
	before := server.DeepCopy()
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParked, metalv1.AnnotationTrue)
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParkedOff, restoredFile)
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParkedSince, now.UTC().Format(time.RFC3339))
	return api.Patch(ctx, server, client.MergeFrom(before))
}
