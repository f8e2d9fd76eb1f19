package metadata

import (
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
)

// FieldServerName is the field that says what the Server is called.
const FieldServerName = "server-name"

// maxStatic bounds the file of static fields.
const maxStatic = 1 << 20

// ReadStatic reads the file of fields that are the same for all machines: YAML or JSON, names to texts.
func ReadStatic(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxStatic+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxStatic:
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxStatic)
	}
	var fields map[string]string
	if err := yaml.UnmarshalStrict(data, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for name := range fields {
		if name == "" || strings.ContainsRune(name, '/') || name == "user-data" {
			return nil, fmt.Errorf("%s: %q cannot be the name of a field", file, name)
		}
	}
	return fields, nil
}

// instance is what the machine of a Server is told.
func instance(static map[string]string, server *metalv1.Server, userData map[string][]byte) bootview.Instance {
	fields := maps.Clone(static)
	if fields == nil {
		fields = map[string]string{}
	}
	fields[FieldServerName] = server.Name
	for _, from := range []map[string]string{server.Annotations, server.Labels} {
		for key, value := range from {
			if name, ok := strings.CutPrefix(key, metalv1.MetadataPrefix); ok && name != "" {
				fields[name] = value
			}
		}
	}
	i := bootview.Instance{Name: server.Name, Fields: fields, UserData: userData}
	for _, n := range server.Status.NetworkInterfaces {
		i.IPs = append(i.IPs, n.IP)
		i.IPs = append(i.IPs, n.IPs...)
	}
	return i
}
