package diagnosis

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// placeholders are what the sentences of causes name things by, and what a page that is about nobody in particular says in their place.
var placeholders = []struct{ placeholder, anybody string }{
	{"{bmc}", "the BMC"}, {"{address}", "its address"}, {"{secret}", "its BMCSecret"}, {"{server}", "the Server"}, {"{name}", "NAME"},
	{"{config}", "the boot configuration"}, {"{image}", "of the boot configuration"}, {"{claim}", "the claim"}, {"{message}", "…"},
}

// names fills in the placeholders with what the facts are about. c is the condition that the cause was found by.
func (f *Facts) names(c *metav1.Condition) names {
	values := names{"{bmc}": "The BMC", "{address}": "an unknown address", "{secret}": "its BMCSecret", "{message}": "no message"}
	if s := f.Server; s != nil {
		values["{server}"], values["{name}"] = "Server "+s.Name, s.Name
		values["{bmc}"] = "The BMC of Server " + s.Name
		if inline := s.Spec.BMC; inline != nil {
			values["{address}"], values["{secret}"] = inline.Address, "BMCSecret "+inline.BMCSecretRef.Name
		}
	}
	if b := f.BMC; b != nil {
		values["{bmc}"], values["{secret}"] = "BMC "+b.Name, "BMCSecret "+b.Spec.BMCSecretRef.Name
		values["{address}"] = cmp.Or(b.Status.IP, values["{address}"])
		if a := b.Spec.Access; a != nil {
			values["{address}"] = a.IP
		}
	}
	if config := f.Config; config != nil {
		values["{config}"] = "ServerBootConfiguration " + config.Namespace + "/" + config.Name
		values["{image}"] = cmp.Or(config.Spec.Image, "(none)")
	}
	if claim := f.Claim; claim != nil {
		values["{claim}"] = "ServerClaim " + claim.Namespace + "/" + claim.Name
	}
	if c != nil && c.Message != "" {
		values["{message}"] = strings.TrimRight(c.Message, ".")
	}
	return values
}

// names are values of placeholders.
type names map[string]string

// Replace fills in the placeholders of a sentence. What is in braces and none of them stays.
func (n names) Replace(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		value := ""
		if closed {
			value = n.value("{" + name + "}")
		}
		if value == "" {
			b.WriteByte('{')
			text = rest
			continue
		}
		b.WriteString(value)
		text = after
	}
}

func (n names) value(placeholder string) string {
	for _, p := range placeholders {
		if p.placeholder == placeholder {
			return cmp.Or(n[placeholder], p.anybody)
		}
	}
	return ""
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
