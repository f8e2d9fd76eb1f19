package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const rootPath = "(root)"

// flatten turns a CRD into what a field list says of its kind.
func flatten(crd *apiextensionsv1.CustomResourceDefinition) definition {
	d := definition{
		plural: crd.Spec.Names.Plural,
		short:  "None",
		scope:  string(crd.Spec.Scope),
		fields: map[string]listedField{},
	}
	if len(crd.Spec.Names.ShortNames) > 0 {
		d.short = quotedList(crd.Spec.Names.ShortNames)
	}
	version := crd.Spec.Versions[0]
	for _, column := range version.AdditionalPrinterColumns {
		kind := column.Type
		if column.Priority != 0 {
			kind += ",p" + strconv.Itoa(int(column.Priority))
		}
		d.columns = append(d.columns, fmt.Sprintf("%s(%s)=%s", column.Name, kind, column.JSONPath))
	}
	schema := version.Schema.OpenAPIV3Schema
	if rules := rulesOf(schema); len(rules) > 0 {
		d.fields[rootPath] = listedField{kind: "object", rules: rules}
	}
	for name, property := range schema.Properties {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			flattenInto(d.fields, name, &property, slices.Contains(schema.Required, name))
		}
	}
	return d
}

func flattenInto(fields map[string]listedField, path string, schema *apiextensionsv1.JSONSchemaProps, required bool) {
	kind := schema.Type
	if kind == "array" {
		kind = "array[]"
	}
	fields[path] = listedField{kind: kind, required: required, rules: rulesOf(schema)}
	for name, property := range schema.Properties {
		flattenInto(fields, path+"."+name, &property, slices.Contains(schema.Required, name))
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		flattenInto(fields, path+"[]", schema.Items.Schema, false)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		flattenInto(fields, path+"{}", schema.AdditionalProperties.Schema, false)
	}
}

// rulesOf lists all validation of one schema, sorted. What no field list has a word for comes out as the
// JSON of what is left of the schema, so that nothing passes unseen.
func rulesOf(schema *apiextensionsv1.JSONSchemaProps) []string {
	rest := schema.DeepCopy()
	rest.Description, rest.Type = "", ""
	rest.Properties, rest.Items, rest.AdditionalProperties, rest.Required = nil, nil, nil, nil
	rules := slices.Concat(valueRules(rest), structureRules(rest), celRules(rest))
	if left, err := json.Marshal(rest); err != nil || string(left) != "{}" {
		rules = append(rules, fmt.Sprintf("unlisted: %s %v", left, err))
	}
	slices.Sort(rules)
	return rules
}

// valueRules takes what bounds a value out of the schema.
func valueRules(s *apiextensionsv1.JSONSchemaProps) []string {
	var rules []string
	if s.Format != "" {
		rules = append(rules, "format="+s.Format)
	}
	if s.Pattern != "" {
		rules = append(rules, "pattern="+s.Pattern)
	}
	for name, bound := range map[string]*int64{
		"minLength": s.MinLength, "maxLength": s.MaxLength, "minItems": s.MinItems, "maxItems": s.MaxItems,
	} {
		if bound != nil {
			rules = append(rules, fmt.Sprintf("%s=%d", name, *bound))
		}
	}
	for name, bound := range map[string]*float64{"minimum": s.Minimum, "maximum": s.Maximum} {
		if bound != nil {
			rules = append(rules, name+"="+strconv.FormatFloat(*bound, 'f', -1, 64))
		}
	}
	if s.Enum != nil {
		values := make([]string, 0, len(s.Enum))
		for _, value := range s.Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		rules = append(rules, "enum="+strings.Join(values, "/"))
	}
	if s.Default != nil {
		rules = append(rules, "default="+literal(string(s.Default.Raw)))
	}
	s.Format, s.Pattern, s.Enum, s.Default = "", "", nil, nil
	s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.Minimum, s.Maximum = nil, nil, nil, nil, nil, nil
	return rules
}

// structureRules takes what guides merging and typing out of the schema.
func structureRules(s *apiextensionsv1.JSONSchemaProps) []string {
	var rules []string
	if s.XMapType != nil {
		rules = append(rules, "map-type="+*s.XMapType)
	}
	if s.XListType != nil {
		rules = append(rules, "list-type="+*s.XListType)
	}
	if len(s.XListMapKeys) > 0 {
		rules = append(rules, "list-map-keys="+quotedList(s.XListMapKeys))
	}
	if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		rules = append(rules, "preserve-unknown-fields=True")
	}
	s.XMapType, s.XListType, s.XListMapKeys, s.XPreserveUnknownFields = nil, nil, nil, nil
	// The two alternatives are how an int-or-string spells its type.
	if s.XIntOrString && len(s.AnyOf) == 2 && s.AnyOf[0].Type == "integer" && s.AnyOf[1].Type == "string" {
		rules = append(rules, "int-or-string=True")
		s.XIntOrString, s.AnyOf = false, nil
	}
	return rules
}

// celRules takes the CEL rules out of the schema.
func celRules(s *apiextensionsv1.JSONSchemaProps) []string {
	var rules []string
	for _, v := range s.XValidations {
		rule := "CEL: `" + v.Rule + "`"
		if v.Message != "" {
			rule += ` -> "` + v.Message + `"`
		}
		if v.FieldPath != "" {
			rule += " at " + v.FieldPath
		}
		if v.Reason != nil {
			rule += " as " + string(*v.Reason)
		}
		rules = append(rules, rule)
	}
	s.XValidations = nil
	return rules
}

// literal writes a JSON value as the field lists do.
func literal(raw string) string {
	switch {
	case raw == "true":
		return "True"
	case raw == "false":
		return "False"
	case strings.HasPrefix(raw, `"`):
		return "'" + strings.Trim(raw, `"`) + "'"
	default:
		return raw
	}
}

func quotedList(items []string) string {
	quoted := make([]string, 0, len(items))
	for _, item := range items {
		quoted = append(quoted, "'"+item+"'")
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
