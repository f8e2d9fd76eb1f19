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
func (f *Facts) names(c *metav1.Condition) *strings.Replacer {
	values := map[string]string{"{bmc}": "The BMC", "{address}": "an unknown address", "{secret}": "its BMCSecret", "{message}": "no message"}
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
	var pairs []string
	for _, p := range placeholders {
		pairs = append(pairs, p.placeholder, cmp.Or(values[p.placeholder], p.anybody))
	}
	return strings.NewReplacer(pairs...)
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
