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
	"github.com/farrier-dev/farrier/internal/listing"
	"github.com/farrier-dev/farrier/internal/system"
)

// restoredFile marks a restored data directory whose servers are not parked yet. It holds the time of the backup.
const restoredFile = "restored"

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
func parkAll(ctx context.Context, config *rest.Config, now time.Time) (int, error) {
	api, err := client.New(config, client.Options{Scheme: system.Scheme()})
	if err != nil {
		return 0, err
	}
	var kind metav1.PartialObjectMetadataList
	kind.SetGroupVersionKind(metalv1.GroupVersion.WithKind("ServerList"))
	servers, err := listing.All[*metav1.PartialObjectMetadata](ctx, api, &kind)
	if err != nil {
		return 0, fmt.Errorf("list servers: %w", err)
	}
	for _, server := range servers {
		server.SetGroupVersionKind(metalv1.GroupVersion.WithKind("Server"))
		if err := park(ctx, api, server, now); err != nil {
			return 0, fmt.Errorf("server %s: %w", server.Name, err)
		}
	}
	return len(servers), nil
}

// park parks a server without a shutdown, unless it is parked already.
func park(ctx context.Context, api client.Client, server *metav1.PartialObjectMetadata, now time.Time) error {
	if server.Annotations[metalv1.AnnotationParked] == metalv1.AnnotationTrue {
		return nil
	}
	before := server.DeepCopy()
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParked, metalv1.AnnotationTrue)
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParkedOff, restoredFile)
	metav1.SetMetaDataAnnotation(&server.ObjectMeta, metalv1.AnnotationParkedSince, now.UTC().Format(time.RFC3339))
	return api.Patch(ctx, server, client.MergeFrom(before))
}
