package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// MaxSize bounds a file, mostDocuments the documents and items of it.
const (
	MaxSize       = 1 << 20
	mostDocuments = 1000
)

// document is one object of a file, as JSON.
type document struct {
	metav1.TypeMeta
	// at says where it stands, such as "document 2".
	at   string
	json []byte
}

// split reads the documents of a file. Empty ones count, but are left out.
func split(content []byte) ([]document, error) {
	if len(content) > MaxSize {
		return nil, fmt.Errorf("longer than %d bytes", MaxSize)
	}
	var documents []document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		at := fmt.Sprintf("document %d", number)
		if err == nil {
			documents, err = appendDocument(documents, at, text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if number > mostDocuments || len(documents) > mostDocuments {
			return nil, fmt.Errorf("%s: more than %d documents", at, mostDocuments)
		}
	}
}

// appendDocument adds a document, or the items of one that is a list.
func appendDocument(documents []document, at string, text []byte) ([]document, error) {
	data, err := yaml.YAMLToJSONStrict(text) // it refuses a key that is there twice
	if err != nil {
		return nil, err
	}
	if string(data) == "null" {
		return documents, nil
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []runtime.RawExtension `json:"items"`
	}
	if err := yaml.Unmarshal(data, &head); err != nil {
		return nil, errors.New("is no object with apiVersion and kind")
	}
	if head.APIVersion == "" || head.Kind == "" {
		return nil, errors.New("apiVersion and kind: Required value")
	}
	if !strings.HasSuffix(head.Kind, "List") {
		return append(documents, document{head.TypeMeta, at, data}), nil
	}
	for i, item := range head.Items {
		if documents, err = appendItem(documents, fmt.Sprintf("%s: items[%d]", at, i), item.Raw); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return documents, nil
}

// appendItem adds an item of a list, which is no list itself.
func appendItem(documents []document, at string, data []byte) ([]document, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(data, &head); err != nil || head.APIVersion == "" || head.Kind == "" {
		return nil, errors.New("apiVersion and kind: Required value")
	}
	return append(documents, document{head, at, data}), nil
}
