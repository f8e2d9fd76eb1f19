package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

//go:generate env CGO_ENABLED=0 go test -trimpath -buildvcs=false -vet=off -run ^TestThePageOfTheAPIIsWhatTheDefinitionsSay$ -update .

// apiPage is docs/reference/api.md: all kinds with all fields, as their definitions describe them.
func apiPage(crds []*apiextensionsv1.CustomResourceDefinition) string {
	crds = slices.Clone(crds)
	slices.SortFunc(crds, func(a, b *apiextensionsv1.CustomResourceDefinition) int {
		return cmp.Or(-cmp.Compare(a.Spec.Group, b.Spec.Group), cmp.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind))
	})
	var b strings.Builder
	b.WriteString("# Kinds and fields\n\nAll kinds that Farrier adds to a Kubernetes API. `make generate` writes this page from their definitions in `config/crd`; `kubectl explain serverclaim.spec` says the same.\n" +
		"Fields that all kinds of Kubernetes have (`metadata`, and those of a condition) are left out. [Samples](../../config/samples) has a manifest of each kind.\n\n" +
		"| kind | API group | names for kubectl | scope |\n|---|---|---|---|\n")
	for _, crd := range crds {
		names := append([]string{crd.Spec.Names.Plural}, crd.Spec.Names.ShortNames...)
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | `%s` | %s |\n", crd.Spec.Names.Kind, strings.ToLower(crd.Spec.Names.Kind), crd.Spec.Group, strings.Join(names, "`, `"),
			strings.ToLower(string(crd.Spec.Scope)))
	}
	for _, crd := range crds {
		kindSection(&b, crd)
	}
	return b.String()
}

// kindSection describes the newest version of a kind.
func kindSection(b *strings.Builder, crd *apiextensionsv1.CustomResourceDefinition) {
	version := crd.Spec.Versions[len(crd.Spec.Versions)-1]
	root := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(b, "\n## %s\n\n`apiVersion: %s/%s`. %s\n\n| field | type | meaning | limits |\n|---|---|---|---|\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name, inline(root.Description))
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		field(b, name, root.Properties[name], slices.Contains(root.Required, name))
	}
}

// field is a line for a field, and for each one below it.
func field(b *strings.Builder, path string, s apiextensionsv1.JSONSchemaProps, required bool) {
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, typeOf(s), inline(s.Description), strings.Join(limits(s, required), "; "))
	if strings.HasSuffix(path, ".conditions") {
		return
	}
	for s.Items != nil && s.Items.Schema != nil {
		s, path = *s.Items.Schema, path+"[]"
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s, path = *s.AdditionalProperties.Schema, path+".*"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field(b, path+"."+name, s.Properties[name], slices.Contains(s.Required, name))
	}
}

// typeOf names the type of a field as a person does.
func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Format == "date-time":
		return "time"
	case s.Format == "byte":
		return "bytes, in base64"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.Type == "":
		return "anything"
	}
	return s.Type
}

// dnsName is what most names of objects have to match.
const dnsName = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`

// limits are what a field may hold, and what it holds if nobody sets it.
func limits(s apiextensionsv1.JSONSchemaProps, required bool) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, inline(fmt.Sprintf(format, args...))) }
	if required {
		say("required")
	}
	if s.Default != nil && string(s.Default.Raw) != `""` {
		say("default `%s`", strings.Trim(string(s.Default.Raw), `"`))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		say("one of %s", strings.Join(values, ", "))
	}
	between(say, "characters", s.MinLength, s.MaxLength)
	between(say, "items", s.MinItems, s.MaxItems)
	between(say, "", s.Minimum, s.Maximum)
	if s.Pattern == dnsName {
		say("a DNS name")
	} else if s.Pattern != "" && s.Format != "date-time" {
		say("matches `%s`", s.Pattern)
	}
	if s.XListType != nil && *s.XListType == "map" {
		say("one item for each `%s`", strings.Join(s.XListMapKeys, "`, `"))
	}
	for _, rule := range s.XValidations {
		if rule.Message == "" {
			say("`%s`", rule.Rule)
		} else {
			say("%s", rule.Message)
		}
	}
	// Rules of the items of a list are its own for whoever reads a line for each field.
	if s.Items != nil && s.Items.Schema != nil && s.Items.Schema.Properties == nil {
		for _, limit := range limits(*s.Items.Schema, false) {
			all = append(all, "each: "+limit)
		}
	}
	return all
}

// between says how much a field holds.
func between[N int64 | float64](say func(string, ...any), what string, least, most *N) {
	what = strings.TrimSuffix(" "+what, " ")
	switch {
	case least != nil && most == nil && *least == 1 && what != "":
		say("not empty")
	case least != nil && most != nil:
		say("%v to %v%s", *least, *most, what)
	case least != nil:
		say("at least %v%s", *least, what)
	case most != nil:
		say("at most %v%s", *most, what)
	}
}

// inline is text for a cell of a table.
func inline(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
}
