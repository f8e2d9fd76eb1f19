package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// maxManifest bounds one file of manifests.
const maxManifest = 64 << 20

// manifestKinds are what decides which script a machine runs.
var manifestKinds = map[schema.GroupVersionKind]func() client.Object{
	ipxev1.GroupVersion.WithKind("Profile"):         func() client.Object { return &ipxev1.Profile{} },
	ipxev1.GroupVersion.WithKind("Assignment"):      func() client.Object { return &ipxev1.Assignment{} },
	metalv1.GroupVersion.WithKind("Server"):         func() client.Object { return &metalv1.Server{} },
	corev1.SchemeGroupVersion.WithKind("Secret"):    func() client.Object { return &corev1.Secret{} },
	corev1.SchemeGroupVersion.WithKind("ConfigMap"): func() client.Object { return &corev1.ConfigMap{} },
}

// objects reads manifests as a client reads a cluster.
type objects struct {
	byName map[objectKey]client.Object
	byKind map[reflect.Type][]client.Object // in the order in which they were read
}

type objectKey struct {
	kind reflect.Type
	name client.ObjectKey
}

func keyOf(obj client.Object) objectKey {
	return objectKey{reflect.TypeOf(obj).Elem(), client.ObjectKeyFromObject(obj)}
}

// readObjects reads files, folders (of .yaml, .yml and .json) and, as "-", standard input. What has no namespace gets
// the given one. Kinds that have no say are passed over.
func readObjects(paths []string, namespace string, stdin io.Reader) (*objects, error) {
	o := &objects{byName: map[objectKey]client.Object{}, byKind: map[reflect.Type][]client.Object{}}
	for _, path := range paths {
		files, err := manifestPaths(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := readFile(file, stdin)
			if err == nil {
				err = o.add(content, namespace)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return o, nil
}

// manifestPaths are the manifests of a folder, or the file itself.
func manifestPaths(path string) ([]string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return manifestsBelow(path)
	}
	return []string{path}, nil
}

func manifestsBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

func readFile(path string, stdin io.Reader) ([]byte, error) {
	return readFileUpTo(path, stdin, maxManifest)
}

func readFileUpTo(path string, stdin io.Reader, limit int64) ([]byte, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return content, err
}

func (o *objects) add(content []byte, namespace string) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = o.document(document, namespace)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

func (o *objects) document(document []byte, namespace string) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []runtime.RawExtension `json:"items"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil {
		return err
	}
	if strings.HasSuffix(head.Kind, "List") {
		for i, item := range head.Items {
			if err := o.document(item.Raw, namespace); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
		}
		return nil
	}
	newObject, known := manifestKinds[head.GroupVersionKind()]
	if !known {
		return nil
	}
	obj := newObject()
	if err := yaml.UnmarshalStrict(document, obj); err != nil {
		return fmt.Errorf("%s: %w", head.Kind, err)
	}
	if obj.GetName() == "" {
		return fmt.Errorf("%s: metadata.name: required", head.Kind)
	}
	if _, cluster := obj.(*metalv1.Server); !cluster && obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	return o.put(obj)
}

func (o *objects) put(obj client.Object) error {
	key := keyOf(obj)
	if o.byName[key] != nil {
		return fmt.Errorf("%s %s is there twice", key.kind.Name(), key.name)
	}
	switch obj := obj.(type) {
	case *corev1.Secret:
		for key, value := range obj.StringData {
			if obj.Data == nil {
				obj.Data = map[string][]byte{}
			}
			obj.Data[key] = []byte(value)
		}
	case *ipxev1.Profile:
		// What admission does: a label key has one slash at most.
		for key, value := range obj.Labels {
			if prefix, name, ok := strings.Cut(key, "/"); ok && strings.Contains(name, "/") {
				delete(obj.Labels, key)
				obj.Labels[prefix+"/"+strings.ReplaceAll(name, "/", "-")] = value
			}
		}
	}
	o.byName[key] = obj
	o.byKind[key.kind] = append(o.byKind[key.kind], obj)
	return nil
}

// Get implements client.Reader.
func (o *objects) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := reflect.TypeOf(into).Elem()
	found := o.byName[objectKey{kind, name}]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind.Name()}, name.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader.
func (o *objects) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if !items.IsValid() || items.Kind() != reflect.Slice {
		return fmt.Errorf("%T is no list", list)
	}
	for _, obj := range o.byKind[items.Type().Elem()] {
		if options.Namespace == "" || options.Namespace == obj.GetNamespace() {
			items.Set(reflect.Append(items, reflect.ValueOf(obj.DeepCopyObject()).Elem()))
		}
	}
	return nil
}
