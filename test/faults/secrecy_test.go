package faults

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
)

// searchEverything looks for passwords, and for the tokens of event receivers, in all that anybody can
// see: what was logged and observed, every object of every kind, metrics, and the rack's admin endpoint.
func (s *stand) searchEverything(t *testing.T) {
	objects, vaults := s.everyObject(t)
	seen := map[string]string{"log or observation": s.said.String(), "metrics": s.everyMetric(t), "admin endpoint": s.everyAnswer(t)}
	for where, text := range objects {
		seen[where] = text
	}
	for secret, forms := range s.secrets(t) {
		for _, form := range forms {
			for where, text := range seen {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s is in %s: …%s…", secret, where, text[max(0, at-200):min(len(text), at+50)])
				}
			}
		}
	}
	// A search that finds nothing where there is something would say the same.
	found := 0
	for _, text := range vaults {
		for _, form := range spellings(marker) {
			if strings.Contains(text, form) {
				found++
			}
		}
	}
	if found < bmcs/2 {
		t.Errorf("the passwords are found in %d of the objects that hold them", found)
	}
	for _, expected := range []string{"BMC request failed", "401 Unauthorized", "farrier_bmc_logins_total", "Starting workers"} {
		if !strings.Contains(seen["log or observation"]+seen["metrics"], expected) {
			t.Errorf("what was searched does not have %q in it", expected)
		}
	}
}

// secrets are what must not be seen, each in all ways in which it may be written.
func (s *stand) secrets(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"the marker": spellings(marker)}
	var secrets metalv1.BMCSecretList
	var objects metalv1.BMCList
	if err := s.List(t.Context(), &secrets); err != nil {
		t.Fatal(err)
	}
	if err := s.List(t.Context(), &objects); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, secret := range secrets.Items {
		if password := string(secret.Data[metalv1.BMCSecretPasswordKey]); password != "" && !strings.Contains(password, marker) {
			all["the password made for "+secret.Name] = spellings(password)
			made++
		}
	}
	if made == 0 {
		t.Error("no rotation has made a password")
	}
	for _, obj := range objects.Items {
		for _, channel := range []bmcevents.Channel{bmcevents.Alerts, bmcevents.MetricReports} {
			destination := s.paths.Destination(s.receiver, channel, string(obj.UID)).Reveal()
			all["the receiver's token of "+obj.Name] = append(all["the receiver's token of "+obj.Name], destination[strings.LastIndex(destination, "/")+1:])
		}
	}
	return all
}

// spellings are a secret as it is, quoted, in URLs, in hexadecimal, and in base64, wherever in the encoded text it
// begins: three encodings, each without what depends on its neighbours.
func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString([]byte(secret))}
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			first, last := (8*before+5)/6, 8*(before+len(secret))/6
			all = append(all, whole[first:last])
		}
	}
	return all
}

// everyObject reads the whole API. Of Secrets and BMCSecrets the data is left out; vaults are those as they are.
func (s *stand) everyObject(t *testing.T) (objects, vaults map[string]string) {
	t.Helper()
	finder, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := dynamic.NewForConfig(s.config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := finder.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	objects, vaults = map[string]string{}, map[string]string{}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range group.APIResources {
			if !strings.Contains(fmt.Sprint(resource.Verbs), "list") {
				continue
			}
			list, err := reader.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("%s: %v", resource.Name, err)
			}
			for _, item := range list.Items {
				name := resource.Kind + " " + item.GetNamespace() + "/" + item.GetName()
				if resource.Kind == "Secret" || resource.Kind == "BMCSecret" {
					vaults[name] = text(t, item)
					delete(item.Object, "data")
					delete(item.Object, "stringData")
				}
				objects[name] = text(t, item)
			}
		}
	}
	for _, kind := range []string{"BMC ", "Server ", "Event ", "BMCSecret "} {
		if !strings.Contains(strings.Join(keys(objects), "\n"), kind) {
			t.Errorf("no %s was searched", kind)
		}
	}
	return objects, vaults
}

func keys(m map[string]string) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	return all
}

func text(t *testing.T, item unstructured.Unstructured) string {
	t.Helper()
	out, err := json.Marshal(item.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// everyMetric is those of the fleet and of the receiver, and those of the controllers.
func (s *stand) everyMetric(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, registry := range []prometheus.Gatherer{s.metrics, ctrlmetrics.Registry} {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			out.WriteString(family.String() + "\n")
		}
	}
	return out.String()
}

// everyAnswer asks the admin endpoint of the rack everything.
func (s *stand) everyAnswer(t *testing.T) string {
	t.Helper()
	paths := []string{"/kinds", "/faults", "/stats", "/bmcs"}
	for n := range bmcs {
		paths = append(paths, fmt.Sprintf("/bmcs/%d/stats", n+1), fmt.Sprintf("/bmcs/%d/boots", n+1))
	}
	var out strings.Builder
	for _, path := range paths {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", s.admin, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, response.Status, err)
		}
		out.Write(body)
	}
	return out.String()
}
