package config

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/ignition"
)

// TestExamples: each is on the page that says how its image is packed, names that image, and what its machine reads first is Butane without a warning.
func TestExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/discovery-image.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	packed := map[string]bool{}
	for _, m := range regexp.MustCompile(`farrier image pack (registry\.example/os/\S+)`).FindAllStringSubmatch(page, -1) {
		packed[m[1]] = true
	}
	names, err := examples.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 4 {
		t.Errorf("only %d examples", len(names))
	}
	for _, name := range names {
		if link := "../config/examples/" + name.Name(); !strings.Contains(page, link) {
			t.Errorf("the page has no link to %s", link)
		}
	}
	objects, err := Examples()
	if err != nil {
		t.Fatal(err)
	}
	secrets, claims := map[string]bool{}, 0
	for _, object := range objects {
		if object.GetKind() != "Secret" {
			continue
		}
		data, ok := object.Object["stringData"].(map[string]any)
		if !ok {
			t.Fatalf("Secret %s has no stringData", object.GetName())
		}
		format, _ := data["format"].(string)
		content, _ := data["ignition"].(string)
		payload, warnings, err := ignition.Payload(format, []byte(content))
		if err != nil || len(warnings) > 0 || !strings.HasPrefix(string(payload), `{"ignition":`) {
			t.Errorf("Secret %s: %q, %v, %v", object.GetName(), payload, warnings, err)
		}
		secrets[object.GetName()] = true
	}
	for _, object := range objects {
		spec, _ := object.Object["spec"].(map[string]any)
		if object.GetKind() != "ServerClaim" {
			continue
		}
		claims++
		if image, _ := spec["image"].(string); !packed[image] {
			t.Errorf("ServerClaim %s: the page does not pack %s", object.GetName(), image)
		}
		if ref, _ := spec["ignitionSecretRef"].(map[string]any); ref != nil && !secrets[ref["name"].(string)] {
			t.Errorf("ServerClaim %s: there is no Secret %v", object.GetName(), ref["name"])
		}
	}
	if claims != len(names) {
		t.Errorf("%d claims in %d examples", claims, len(names))
	}
}
