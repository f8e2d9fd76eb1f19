package server

import (
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Edit is one change of a Server's spec or annotations, as data: a plan lists them, and act writes them in one patch.
type Edit interface{ apply(*metalv1.Server) }

type (
	// setAnnotation sets an annotation; an empty value removes it.
	setAnnotation struct{ key, value string }
	// setBoot sets spec.bootConfigurationRef; an empty name removes it.
	setBoot struct{ namespace, name string }
	// setMaintenance gives the server to a maintenance; an empty name to none. What the last one booted is no longer booted.
	setMaintenance struct{ namespace, name string }
	// removeClaim removes spec.serverClaimRef.
	removeClaim struct{}
	// setTaint and removeTaint change the taint of that key.
	setTaint    struct{ key string }
	removeTaint struct{ key string }
	// setSystemUUID and setSystemURI say which machine the server is.
	setSystemUUID struct{ uuid string }
	setSystemURI  struct{ uri string }
)

func removeAnnotation(key string) Edit { return setAnnotation{key: key} }

func removeBoot() Edit { return setBoot{} }

// forgetFailures lets discovery begin as if it had never failed.
func forgetFailures() []Edit {
	return []Edit{removeAnnotation(annotationDiscoveryFailures), removeAnnotation(annotationDiscoveryNotBefore)}
}

// apply changes the server.
func apply(server *metalv1.Server, edits []Edit) {
	for _, e := range edits {
		e.apply(server)
	}
}

func (e setAnnotation) apply(s *metalv1.Server) {
	if e.value == "" {
		delete(s.Annotations, e.key)
		return
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[e.key] = e.value
}

func (e setBoot) apply(s *metalv1.Server) {
	s.Spec.BootConfigurationRef = reference(e.namespace, e.name)
}

func (e setMaintenance) apply(s *metalv1.Server) {
	s.Spec.ServerMaintenanceRef, s.Spec.MaintenanceBootConfigurationRef = reference(e.namespace, e.name), nil
}

func (removeClaim) apply(s *metalv1.Server) { s.Spec.ServerClaimRef = nil }

func (e setTaint) apply(s *metalv1.Server) {
	removeTaint(e).apply(s)
	s.Spec.Taints = append(s.Spec.Taints, metalv1.Taint{Key: e.key, Effect: metalv1.TaintEffectNoBind})
}

func (e removeTaint) apply(s *metalv1.Server) {
	var kept []metalv1.Taint
	for _, t := range s.Spec.Taints {
		if t.Key != e.key {
			kept = append(kept, t)
		}
	}
	s.Spec.Taints = kept
}

func (e setSystemUUID) apply(s *metalv1.Server) { s.Spec.SystemUUID = e.uuid }

func (e setSystemURI) apply(s *metalv1.Server) { s.Spec.SystemURI = e.uri }

func reference(namespace, name string) *metalv1.ObjectReference {
	if name == "" {
		return nil
	}
	return &metalv1.ObjectReference{Namespace: namespace, Name: name}
}
