package objectname

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Problem is what is wrong with the name of an object of that kind, in words; empty: one can have it. Every kind that
// references lead to is named by a DNS subdomain (RFC 1123 §2.1), the same that the schemas in config/crd ask for.
func Problem(kind, name string) string {
	if name == "" {
		return fmt.Sprintf("names no %s", kind)
	}
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not a valid name of a %s: want at most %d lower case letters, digits, - and ., beginning and ending with a letter or digit",
		shown(name), kind, validation.DNS1123SubdomainMaxLength)
}

// NamespaceProblem is Problem for the namespace of an object.
func NamespaceProblem(name string) string {
	if len(validation.IsDNS1123Label(name)) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is not a valid name of a Namespace: want at most %d lower case letters, digits and -, beginning and ending with a letter or digit",
		shown(name), validation.DNS1123LabelMaxLength)
}

// maxShown bounds what is repeated of a name: it may be as long as a request.
const maxShown = 64

// shown is a name as messages repeat it.
func shown(name string) string {
	if len(name) > maxShown {
		name = strings.ToValidUTF8(name[:maxShown], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}
