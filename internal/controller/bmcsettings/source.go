package bmcsettings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// source is an object that variables come from.
type source struct{ kind, namespace, name string }

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
	kindBMC       = "BMC"
)

func (s source) String() string {
	if s.namespace == "" {
		return s.kind + " " + shown(s.name)
	}
	return s.kind + " " + shown(s.namespace) + "/" + shown(s.name)
}

// sources read the variables of one object.
type sources struct {
	cached, live client.Reader
	obj          *metalv1.BMCSettings
	memory       *memory
	now          time.Time
	// own is the namespace of the manager, whose keys are nobody's settings.
	own string
	// used are the objects that were looked for.
	used []source
	// stamp tells what was read from what is read later, by the versions of objects: what is in them is nobody's to know.
	stamp io.Writer
}

// read returns the variables in the order of spec, each of which may use those before it. asked stands for what was read.
func (s *sources) read(ctx context.Context) (found variables, asked string, err error) {
	h := sha256.New()
	s.stamp = h
	found = variables{}
	for i, variable := range s.obj.Spec.Variables {
		value, err := s.value(ctx, variable.ValueFrom, found)
		if err != nil {
			if reconcileerror.IsTransient(err) {
				return nil, "", fmt.Errorf("variable %q: %w", shown(variable.Key), err)
			}
			err = reconcileerror.Terminal{Reason: reasonOf(err, reasonUnknownVariable), Err: fmt.Errorf("spec.variables[%d] %q: %w", i, shown(variable.Key), err)}
			return nil, hex.EncodeToString(h.Sum(nil)[:12]), err
		}
		found[variable.Key] = value
	}
	return found, hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func (s *sources) value(ctx context.Context, from *metalv1.VariableSource, before variables) (text, error) {
	switch {
	case from == nil:
	case from.FieldRef != nil:
		path, err := reference(from.FieldRef.FieldPath, before)
		if err != nil {
			return text{}, err
		}
		words, err := ownField(s.obj, path)
		return s.field(words, err)
	case from.ObjectFieldRef != nil:
		return s.objectField(ctx, *from.ObjectFieldRef, before)
	case from.ConfigMapKeyRef != nil:
		value, err := s.key(ctx, kindConfigMap, *from.ConfigMapKeyRef, before)
		if err != nil {
			return text{}, err
		}
		return before.expand(value.reveal(), plain)
	case from.SecretKeyRef != nil:
		return s.key(ctx, kindSecret, *from.SecretKeyRef, before)
	}
	return text{}, reconcileerror.Terminalf(reasonSourceMissing, "valueFrom names nothing")
}

// reference puts variables into the name of something. One from a Secret would be told wherever the name is.
func reference(in string, before variables) (string, error) {
	out, err := before.expand(in, plain)
	if err == nil && out.secret {
		err = reconcileerror.Terminalf(reasonUnknownVariable, "%q names something with a part of a Secret", shown(in))
	}
	return out.reveal(), err
}

func (s *sources) field(words string, err error) (text, error) {
	if err != nil {
		return text{}, err
	}
	if len(words) > maxText {
		return text{}, tooLong()
	}
	fmt.Fprintf(s.stamp, "field %q\n", words)
	return textOf(words, false), nil
}

func (s *sources) objectField(ctx context.Context, ref metalv1.ObjectFieldRefSelector, before variables) (text, error) {
	name, err := reference(ref.Name, before)
	if err != nil {
		return text{}, err
	}
	path, err := reference(ref.FieldPath, before)
	if err != nil {
		return text{}, err
	}
	of := source{kind: kindBMC, name: name}
	s.used = append(s.used, of)
	var object metalv1.BMC
	if err := s.cached.Get(ctx, client.ObjectKey{Name: name}, &object); apierrors.IsNotFound(err) || ref.Kind != kindBMC {
		return text{}, reconcileerror.Terminalf(reasonSourceMissing, "%s does not exist", of)
	} else if err != nil {
		return text{}, err
	}
	words, err := fieldOf(&object, path)
	return s.field(words, err)
}

// key reads a key of a ConfigMap or a Secret, the latter from memory where it is the one that was read last.
func (s *sources) key(ctx context.Context, kind string, ref metalv1.NamespacedKeySelector, before variables) (text, error) {
	parts := []string{ref.Namespace, ref.Name, ref.Key}
	for i, part := range parts {
		var err error
		if parts[i], err = reference(part, before); err != nil {
			return text{}, err
		}
	}
	of, key := source{kind, parts[0], parts[1]}, parts[2]
	s.used = append(s.used, of)
	if kind == kindConfigMap {
		return s.configMap(ctx, of, key)
	}
	if of.namespace == s.own && strings.HasPrefix(of.name, "farrier-") {
		return text{}, reconcileerror.Terminalf(reasonSourceRefused, "%s is Farrier's own, and for no BMC", of)
	}
	var there metav1.PartialObjectMetadata
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := s.cached.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: of.name}, &there)
	if apierrors.IsNotFound(err) {
		return text{}, reconcileerror.Terminalf(reasonSourceMissing, "%s does not exist", of)
	}
	if err != nil {
		return text{}, err
	}
	fmt.Fprintf(s.stamp, "%s %s %s %q\n", of, there.UID, there.ResourceVersion, key)
	version := string(there.UID) + " " + there.ResourceVersion
	if kept, known := s.memory.kept(of, key); known && kept.version == version {
		return kept.value, nil
	}
	var secret corev1.Secret
	if err := s.live.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: of.name}, &secret); apierrors.IsNotFound(err) {
		return text{}, reconcileerror.Terminalf(reasonSourceMissing, "%s does not exist", of)
	} else if err != nil {
		return text{}, err
	}
	if secret.Type == corev1.SecretTypeServiceAccountToken {
		return text{}, reconcileerror.Terminalf(reasonSourceRefused, "%s is the token of a service account, and for no BMC", of)
	}
	words, found := secret.Data[key]
	value, err := valueOf(of, key, string(words), found)
	if err == nil {
		s.memory.keep(of, key, content{version: version, value: value})
	}
	return value, err
}

// configMap reads a key of a ConfigMap. The caches hold none but those that Farrier makes, so it is read from the API, and kept for a while.
func (s *sources) configMap(ctx context.Context, of source, key string) (text, error) {
	kept, known := s.memory.kept(of, key)
	if !known || !s.now.Before(kept.at.Add(configMapsEvery)) {
		var config corev1.ConfigMap
		if err := s.live.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: of.name}, &config); apierrors.IsNotFound(err) {
			return text{}, reconcileerror.Terminalf(reasonSourceMissing, "%s does not exist", of)
		} else if err != nil {
			return text{}, err
		}
		words, found := config.Data[key]
		if binary, is := config.BinaryData[key]; is {
			words, found = string(binary), true
		}
		value, err := valueOf(of, key, words, found)
		if err != nil {
			return text{}, err
		}
		kept = content{at: s.now, value: value}
		s.memory.keep(of, key, kept)
	}
	fmt.Fprintf(s.stamp, "%s %q %q\n", of, key, kept.value.reveal())
	return kept.value, nil
}

func valueOf(of source, key, words string, found bool) (text, error) {
	if !found {
		return text{}, reconcileerror.Terminalf(reasonKeyMissing, "%s has no key %q", of, shown(key))
	}
	if len(words) > maxText {
		return text{}, tooLong()
	}
	return textOf(words, of.kind == kindSecret), nil
}
