package ipxeapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/objectversion"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
	"github.com/farrier-dev/farrier/internal/ipxeapi/spelling"
)

// gathered is what a profile is made of, and what there is to say about it.
type gathered struct {
	source profile.Source
	// missing are contents that are not there, stale are those of which only an older
	// answer is, invalid are those that cannot be transformed; warned are the warnings.
	missing, stale, invalid, warned []string
	// misnamed says that some of what is missing cannot ever be there, by its name.
	misnamed    bool
	transformed bool
	// unsaid is what is written in a later version of the API and cannot be said here, by the name of the content.
	unsaid map[string]*spelling.Problem

	// asks is what webhooks are asked, by the name of the content; nil where a Secret for it
	// is wrong, which refused says.
	asks    map[string]content.Request
	refused map[string]error
	// objects are the profile and what was read for it.
	objects []metav1.Object
}

// gather resolves all content. An error is one that goes away by trying again.
func (r *Profiles) gather(ctx context.Context, p *ipxev1.Profile) (*gathered, error) {
	spec, unsaid := spelling.Profile(&p.Spec)
	g := &gathered{objects: []metav1.Object{p}, unsaid: map[string]*spelling.Problem{}, source: profile.Source{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Script: spec.IPXE, Configs: map[string]profile.Content{},
	}}
	for _, problem := range unsaid {
		g.unsaid[spec.AdditionalContent[problem.Content].Name] = problem
	}
	for name, text := range spec.AdditionalConfig {
		g.source.Configs[name] = profile.Content{Bytes: []byte(text)}
	}
	if err := r.depend(ctx, g, client.ObjectKeyFromObject(p), spec.AdditionalContent); err != nil {
		return nil, err
	}
	for i := range spec.AdditionalContent {
		c := &spec.AdditionalContent[i]
		resolved, err := r.resolve(ctx, g, p.Namespace, c)
		if err != nil {
			return nil, err
		}
		if _, twice := g.source.Configs[c.Name]; twice {
			resolved = profile.Content{Err: "additionalConfig and additionalContent both have it"}
			g.missing = append(g.missing, c.Name+": "+resolved.Err)
		}
		g.source.Configs[c.Name] = resolved
	}
	g.limit()
	g.source.Version = objectversion.Newest(g.objects...)
	return g, nil
}

// depend has news of what the profile is made of wake it. That comes before anything is
// read, so that nothing is missed in between.
func (r *Profiles) depend(ctx context.Context, g *gathered, name types.NamespacedName, contents []ipxev1.AdditionalContent) error {
	r.references.set(name, referencesOf(name.Namespace, contents)...)
	g.asks, g.refused = map[string]content.Request{}, map[string]error{}
	for i := range contents {
		c := &contents[i]
		if c.Webhook == nil {
			continue
		}
		request, problem, err := r.request(ctx, g, name.Namespace, c.Webhook)
		switch {
		case err != nil:
			return err
		case problem != nil:
			g.refused[c.Name] = problem
		default:
			g.asks[c.Name] = request
		}
	}
	r.inquiries.set(name, r.Webhooks.Forget, slices.Collect(maps.Values(g.asks))...)
	return nil
}

// limit takes what is too long out, in an order that does not depend on chance.
func (g *gathered) limit() {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(g.source.Configs)) {
		c := g.source.Configs[name]
		total += len(c.Bytes)
		problem := ""
		switch {
		case len(c.Bytes) > profile.MaxConfig:
			problem = fmt.Sprintf("longer than %d bytes", profile.MaxConfig)
		case total > profile.MaxConfigs:
			problem = fmt.Sprintf("all configs together are longer than %d bytes", profile.MaxConfigs)
		}
		if problem != "" {
			g.source.Configs[name] = profile.Content{Inserted: c.Inserted, Err: problem}
			g.missing = append(g.missing, name+": "+problem)
		}
	}
}

// resolve finds one content and transforms it.
func (r *Profiles) resolve(ctx context.Context, g *gathered, namespace string, c *ipxev1.AdditionalContent) (profile.Content, error) {
	result := profile.Content{Inserted: !c.Exposed}
	data, problem, err := r.find(ctx, g, namespace, c)
	if err != nil {
		return result, err
	}
	if problem != nil {
		var misnamed impossible
		g.misnamed = g.misnamed || errors.As(problem, &misnamed)
		result.Err = problem.Error()
		g.missing = append(g.missing, c.Name+": "+result.Err)
		return result, nil
	}
	if c.Transform == ipxev1.TransformButane {
		g.transformed = true
		translated, warnings, err := ignition.Payload(ignition.FormatButane, data)
		for _, warning := range warnings {
			g.warned = append(g.warned, c.Name+": "+warning)
		}
		if err != nil {
			result.Err = err.Error()
			g.invalid = append(g.invalid, c.Name+": "+result.Err)
			return result, nil
		}
		data, result.Type = translated, "application/json"
	}
	if result.Inserted && c.Inline == nil {
		if data, problem = oneLine(data); problem != nil {
			result.Err = problem.Error()
			g.missing = append(g.missing, c.Name+": "+result.Err)
			return result, nil
		}
	}
	result.Bytes = data
	return result, nil
}

// oneLine lets nobody but the author of a script add a command to it.
func oneLine(data []byte) ([]byte, error) {
	text := strings.TrimRight(string(data), "\r\n")
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("it is inserted into the script and contains a newline or another control character; exposed: true gives it a URL instead")
	}
	return []byte(text), nil
}

// find reads one content. A problem is for whoever wrote the profile, or what it refers to.
func (r *Profiles) find(ctx context.Context, g *gathered, namespace string, c *ipxev1.AdditionalContent) (data []byte, problem, err error) {
	given := 0
	for _, set := range []bool{c.Inline != nil, c.SecretRef != nil, c.ConfigMapRef != nil, c.Webhook != nil} {
		if set {
			given++
		}
	}
	switch {
	case g.unsaid[c.Name] != nil:
		return nil, g.unsaid[c.Name], nil
	case given != 1:
		return nil, fmt.Errorf("it has %d sources, want exactly one of inline, secretRef, configMapRef and webhook", given), nil
	case c.Inline != nil:
		return []byte(*c.Inline), nil, nil
	case c.SecretRef != nil:
		return r.secretKey(ctx, g, namespace, c.SecretRef)
	case c.ConfigMapRef != nil:
		return r.configMapKey(ctx, g, namespace, c.ConfigMapRef)
	}
	data, problem = r.webhook(g, c.Name)
	return data, problem, nil
}
