package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

// File is a file of manifests.
type File struct {
	Name    string
	Content []byte
}

// Manifests imports Profiles and Assignments of any group and in any spelling, and takes objects of Farrier's other kinds as they are.
func Manifests(files []File, o Options) *Result {
	r := newResult(o)
	for _, file := range files {
		r.file(file)
	}
	r.unselected()
	r.rankManifests()
	return r.finish()
}

// file imports the objects of one file, and names the kinds in it that Farrier has not.
func (r *Result) file(file File) {
	foreign, before := map[string]int{}, len(r.Notes)
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file.Content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		where := fmt.Sprintf("%s#%d", file.Name, number)
		if err != nil {
			r.note(Refused, where, "%v", err)
			break
		}
		r.document(where, document, foreign)
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(foreign)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", foreign[kind], kind))
	}
	switch {
	case len(r.Notes) == before && len(kinds) == 0:
		r.note(Foreign, file.Name, "nothing in it that Farrier knows: no object with a kind")
	case len(r.Notes) == before:
		r.note(Foreign, file.Name, "nothing in it that Farrier knows: %s", strings.Join(kinds, ", "))
	case len(kinds) > 0:
		r.note(Foreign, file.Name, "left out, for Farrier has no such kind: %s", strings.Join(kinds, ", "))
	}
}

// document imports an object or a list of them, and counts the kinds that Farrier has not.
func (r *Result) document(where string, written []byte, foreign map[string]int) {
	document, err := yaml.YAMLToJSONStrict(written)
	if err == nil && string(document) == "null" {
		return
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err == nil && json.Unmarshal(document, &head) != nil {
		err = errors.New("want an object with apiVersion, kind and metadata")
	}
	if err != nil {
		r.note(Refused, where, "%v", err)
		return
	}
	gvk := head.GroupVersionKind()
	switch {
	case strings.HasSuffix(head.Kind, "List"):
		for i, item := range head.Items {
			r.document(fmt.Sprintf("%s.items[%d]", where, i), item, foreign)
		}
	case head.Kind == "Assignment":
		err = r.importAssignment(where, document)
	case head.Kind == "Profile":
		err = r.importProfile(where, document)
	case kinds.Recognizes(gvk):
		err = r.take(where, gvk, document)
	case head.Kind != "":
		foreign[gvk.GroupKind().String()]++
	}
	if err != nil {
		r.note(Refused, where, "%s: %v", head.Kind, err)
	}
}

// meta keeps what people write of metadata.
func (r *Result) meta(kind, where string, m metav1.ObjectMeta) (metav1.ObjectMeta, error) {
	if m.Name == "" {
		return m, errors.New("metadata.name: required")
	}
	labels := map[string]string{}
	for key, value := range m.Labels {
		labels[r.legal(where, "label", key)] = value
	}
	for _, derived := range []string{"buildarch", "uuid"} {
		// Later spellings keep copies of selectors in labels, as their index.
		maps.DeleteFunc(labels, func(key, _ string) bool { return kind == "Assignment" && indexes(key, derived) })
	}
	if len(labels) == 0 {
		labels = nil
	}
	namespace := cmp.Or(m.Namespace, r.options.Namespace)
	if other := r.taken[kind+"/"+namespace+"/"+m.Name]; other != "" {
		return m, fmt.Errorf("%s is called %s/%s too", other, namespace, m.Name)
	}
	r.taken[kind+"/"+namespace+"/"+m.Name] = where
	return metav1.ObjectMeta{Namespace: namespace, Name: m.Name, Labels: labels}, nil
}

// legal is a label key as Kubernetes allows it: with one slash.
func (r *Result) legal(where, what, key string) string {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok || !strings.Contains(name, "/") {
		return key
	}
	legal := prefix + "/" + strings.ReplaceAll(name, "/", "-")
	r.note(Changed, where, "%s %q is written %q", what, key, legal)
	return legal
}

func indexes(key, derived string) bool {
	group, name, _ := strings.Cut(key, "/")
	return group == "default-assignment" || strings.HasPrefix(group, derived+".") || strings.Contains(group, ".") && (name == derived || name == "default-assignment")
}

// told says what has become of an object: nothing else, or the object of this version that means the same.
func (r *Result) told(where string, from metav1.TypeMeta, kind string, m metav1.ObjectMeta, spellings []string) {
	if from.APIVersion != ipxev1.GroupVersion.String() {
		spellings = append([]string{"apiVersion " + from.APIVersion}, spellings...)
	}
	if len(spellings) == 0 {
		r.note(Taken, where, "%s %s/%s", kind, m.Namespace, m.Name)
		return
	}
	r.note(Translated, where, "%s %s/%s, from %s", kind, m.Namespace, m.Name, strings.Join(spellings, ", "))
}
