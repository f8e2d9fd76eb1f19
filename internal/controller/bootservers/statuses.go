package bootservers

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
)

const (
	// StatusName is the ConfigMap in the manager's namespace that has the status of each boot server, as YAML, under its name.
	StatusName = "farrier-boot-servers"

	// lookEvery is how often boot servers are looked at. What has not changed is not written.
	lookEvery = 5 * time.Second
	// toCome is how long a boot server may take to follow another manager, or to come back, before it counts as gone.
	toCome = 30 * time.Second
)

// Statuses writes the status of the boot servers that follow this process, during its term.
type Statuses struct {
	Client    client.Client
	APIReader client.Reader // ConfigMaps of this name are in no cache
	Namespace string
	// Table has the boot servers that there are, Seen those that have connected, and Following those that follow now.
	Table     func() peer.Table
	Seen      func() map[string]peer.Peer
	Following func() []bootstream.BootServer
	Clock     clock.WithTicker
	Logger    logr.Logger

	written map[string]Status
	object  *corev1.ConfigMap
	absent  map[string]time.Time // since when
	failed  bool                 // which is said once
}

// Run looks and writes until ctx ends.
func (s *Statuses) Run(ctx context.Context) error {
	s.absent = map[string]time.Time{}
	ticker := s.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		err := s.look(ctx)
		if err != nil && ctx.Err() == nil && !s.failed {
			s.Logger.Info("status of boot servers not written", "error", err)
		}
		s.failed = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// look writes what has changed.
func (s *Statuses) look(ctx context.Context) error {
	if s.written == nil {
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	now := s.next()
	if apiequality.Semantic.DeepEqual(now, s.written) {
		return nil
	}
	return s.write(ctx, now)
}

// next are the statuses that follow from what is known now.
func (s *Statuses) next() map[string]Status {
	now, here := s.Clock.Now(), map[string][]bootstream.BootServer{}
	for _, b := range s.Following() {
		here[b.Peer.Name] = append(here[b.Peer.Name], b)
	}
	seen, table, next := s.Seen(), s.Table(), map[string]Status{}
	maps.DeleteFunc(s.absent, func(name string, _ time.Time) bool {
		_, known := table[name]
		return len(here[name]) > 0 || !known
	})
	for name, entry := range table {
		l := look{site: entry.Site, now: now, here: here[name]}
		if p, ok := seen[name]; ok {
			l.seen = &p
		}
		if len(l.here) == 0 {
			if s.absent[name].IsZero() {
				s.absent[name] = now
			}
			l.known = now.Sub(s.absent[name]) >= toCome
		}
		next[name] = l.next(s.written[name])
	}
	return next
}

// read begins with what an earlier term, or another manager, has found. What cannot be read of it is found anew.
func (s *Statuses) read(ctx context.Context) error {
	object, err := get(ctx, s.APIReader, s.Namespace)
	if err != nil {
		return err
	}
	s.object, s.written = object, map[string]Status{}
	for name, text := range object.Data {
		var found Status
		if yaml.UnmarshalStrict([]byte(text), &found) == nil {
			s.written[name] = found
		}
	}
	return nil
}

func (s *Statuses) write(ctx context.Context, statuses map[string]Status) error {
	object := s.object.DeepCopy()
	object.Data = make(map[string]string, len(statuses))
	for name, status := range statuses {
		text, err := yaml.Marshal(status)
		if err != nil {
			return fmt.Errorf("status of boot server %s: %w", name, err)
		}
		object.Data[name] = string(text)
	}
	var err error
	if object.ResourceVersion == "" {
		err = s.Client.Create(ctx, object)
	} else {
		err = s.Client.Update(ctx, object)
	}
	if err != nil {
		s.written = nil // somebody else may have written it: it is read again
		return fmt.Errorf("ConfigMap %s/%s: %w", s.Namespace, StatusName, err)
	}
	s.object, s.written = object, statuses
	return nil
}

// get returns the ConfigMap, or one that can be created.
func get(ctx context.Context, reader client.Reader, namespace string) (*corev1.ConfigMap, error) {
	object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: StatusName}}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(&object), &object); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ConfigMap %s/%s: %w", namespace, StatusName, err)
	}
	return &object, nil
}

// ReadStatuses reads what was written of the boot servers, by their names.
func ReadStatuses(ctx context.Context, reader client.Reader, namespace string) (map[string]Status, error) {
	object, err := get(ctx, reader, namespace)
	if err != nil {
		return nil, err
	}
	statuses := make(map[string]Status, len(object.Data))
	for name, text := range object.Data {
		var status Status
		if err := yaml.Unmarshal([]byte(text), &status); err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s: data of %s: %w", namespace, StatusName, name, err)
		}
		statuses[name] = status
	}
	return statuses, nil
}
