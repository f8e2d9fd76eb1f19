package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"

	"github.com/farrier-dev/farrier/internal/controlplane"
)

// labelPlugin is an admission plugin for tests of in-process admission. It shows that a plugin sees an object before its metadata is validated,
// by repairing label keys that would be refused, and that it can refuse one.
var labelPlugin = controlplane.AdmissionPlugin{
	Name: "TestLabels",
	Factory: func(io.Reader) (admission.Interface, error) {
		return labelRules{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
	},
}

const refusedLabel = "test.farrier.dev/refuse"

type labelRules struct{ *admission.Handler }

var (
	_ admission.MutationInterface   = labelRules{}
	_ admission.ValidationInterface = labelRules{}
)

// Admit turns every slash of a label key but the first into a dot.
func (labelRules) Admit(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	object, err := meta.Accessor(attributes.GetObject())
	if err != nil || attributes.GetSubresource() != "" {
		return nil
	}
	labels := make(map[string]string, len(object.GetLabels()))
	for key, value := range object.GetLabels() {
		if prefix, name, found := strings.Cut(key, "/"); found {
			key = prefix + "/" + strings.ReplaceAll(name, "/", ".")
		}
		labels[key] = value
	}
	object.SetLabels(labels)
	return nil
}

func (labelRules) Validate(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	object, err := meta.Accessor(attributes.GetObject())
	if err != nil || object.GetLabels()[refusedLabel] == "" {
		return nil
	}
	return admission.NewForbidden(attributes, errors.New("the label "+refusedLabel+" asks for it"))
}
