package attacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/test/product"
)

// templatesMachines counts the machines of these tests, which are told apart by their UUIDs.
var templatesMachines atomic.Int32

// templates is a product on which a tenant writes scripts beside another one's, which has to go on being answered.
type templates struct {
	*product.Product
	t                           *testing.T
	namespace, attacker, victim string
}

// startTemplates writes a script of the victim's in a namespace for this test.
func startTemplates(t *testing.T, p *product.Product) templates {
	t.Helper()
	machine := func() string { return fmt.Sprintf("cccccccc-0000-4000-8000-%012d", templatesMachines.Add(1)) }
	s := templates{p, t, strings.ToLower(t.Name()), machine(), machine()}
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	s.create(s.profile("victim", "#!ipxe\n{{ if .Subject.uuid }}echo victim boots{{ end }}\n"))
	s.assign("victim", s.victim)
	s.victimBoots()
	return s
}

func (s templates) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: name}
}

func (s templates) profile(name, script string, content ...ipxev1.AdditionalContent) *ipxev1.Profile {
	return &ipxev1.Profile{ObjectMeta: s.meta(name), Spec: ipxev1.ProfileSpec{IPXE: script, AdditionalContent: content}}
}

func (s templates) create(obj client.Object) {
	s.t.Helper()
	if err := s.Create(s.t.Context(), obj); err != nil {
		s.t.Fatal(err)
	}
}

func (s templates) assign(profile, uuid string) {
	s.t.Helper()
	s.create(&ipxev1.Assignment{ObjectMeta: s.meta(profile), Spec: ipxev1.AssignmentSpec{
		SubjectSelector: map[string]string{"uuid": uuid}, ProfileName: profile,
	}})
}

// says waits until a profile's condition has that reason, and that in its message.
func (s templates) says(name, kind, reason, part string) {
	s.t.Helper()
	s.Eventually(kind+" of Profile "+name, func(ctx context.Context) error {
		var p ipxev1.Profile
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &p); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(p.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || !strings.Contains(c.Message, part) {
			return fmt.Errorf("want False, %s, %q: %.2000v", reason, part, p.Status.Conditions)
		}
		return nil
	})
}

// ask is a machine with a UUID: the answer's status, body and code.
func (s templates) ask(ctx context.Context, uuid string) (status int, body, code string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Boot+"/ipxe?uuid="+uuid, nil)
	if err != nil {
		return 0, "", "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var problem struct{ Code string }
	if response.StatusCode != http.StatusOK && json.Unmarshal(text, &problem) == nil {
		code = problem.Code
	}
	if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "" {
		err = errors.Join(err, errors.New("503 without Retry-After"))
	}
	return response.StatusCode, string(text), code, err
}

func (s templates) victimBoots() {
	s.t.Helper()
	s.Eventually("the other tenant's machine boots", func(ctx context.Context) error {
		status, body, _, err := s.ask(ctx, s.victim)
		if err == nil && (status != http.StatusOK || !strings.Contains(body, "echo victim boots")) {
			err = fmt.Errorf("%d: %.200q", status, body)
		}
		return err
	})
}

// The attack that was seen: a megabyte of text through a pipe of twenty functions, each of which triples it. It is refused as it is written,
// and where only the manager can see how long the text is, by the Profile's condition.
func TestATextThroughALongPipe(t *testing.T) {
	s := startTemplates(t, shared.For(t))
	text := strings.Repeat("%", 1<<20-1<<10)
	for name, script := range map[string]string{
		"pipe": "#!ipxe\n{{ .c" + strings.Repeat(" | urlquery", 20) + " }}\n",
		"text": "#!ipxe\n{{ .c | urlquery }}\n",
	} {
		err := s.Create(t.Context(), s.profile(name, script, ipxev1.AdditionalContent{Name: "c", Inline: &text}))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.ipxe") {
			t.Errorf("%s: %.300v, want it to be refused", name, err)
		}
	}
	s.create(&corev1.ConfigMap{ObjectMeta: s.meta("text"), Data: map[string]string{"k": text}})
	s.create(s.profile("attacker", "#!ipxe\n{{ .c | urlquery }}\n", ipxev1.AdditionalContent{Name: "c", ConfigMapRef: &ipxev1.KeyReference{Name: "text", Key: "k"}}))
	s.assign("attacker", s.attacker)
	s.says("attacker", ipxev1.ConditionReady, "InvalidTemplate", `spec.ipxe: {{ .c | urlquery }}: config "c" has`)
	if status, body, _, err := s.ask(t.Context(), s.attacker); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("its machine is answered %d, %.100q, %v", status, body, err)
	}
	s.victimBoots()
}

// What only a rendering can tell: its functions are given and give more than they may. It ends early with a 503, the Profile says so once, and
// the other tenant's machine is answered while sixty-four ask for it.
func TestAScriptThatComputes(t *testing.T) {
	t.Parallel()
	s := startTemplates(t, product.Start(t, filepath.Join(t.TempDir(), "data")))
	text := strings.Repeat("%", 20_000)
	script := "#!ipxe\n{{ if .Subject.uuid }}" + strings.Repeat("{{ if eq (urlquery .c) .c }}x{{ end }}", 1000) + "{{ end }}echo computed\n"
	s.create(s.profile("attacker", script, ipxev1.AdditionalContent{Name: "c", Inline: &text}))
	s.assign("attacker", s.attacker)
	s.Eventually("the attacker's script is refused", func(ctx context.Context) error {
		status, body, code, err := s.ask(ctx, s.attacker)
		if err == nil && (status != http.StatusServiceUnavailable || code != "AssignmentBroken") {
			err = fmt.Errorf("%d %s: %.100q", status, code, body)
		}
		if err != nil {
			return err
		}
		// An Assignment that is known before its Profile is answered the same, and renders nothing: the machine asks until it has.
		var p ipxev1.Profile
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "attacker"}, &p); err != nil {
			return err
		}
		if apimeta.FindStatusCondition(p.Status.Conditions, ipxev1.ConditionRendered) == nil {
			return errors.New("nothing has been rendered yet")
		}
		return nil
	})
	s.says("attacker", ipxev1.ConditionRendered, "Refused", "spec.ipxe")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results := make(chan error)
	for range 64 {
		go func() {
			for range 8 {
				status, body, code, err := s.ask(ctx, s.attacker)
				if err != nil || status != http.StatusServiceUnavailable || code != "AssignmentBroken" && code != "Busy" {
					results <- fmt.Errorf("%d %s %.100q, %w", status, code, body, err)
					return
				}
			}
			results <- nil
		}()
	}
	s.victimBoots()
	for range 64 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	s.victimBoots()
	var p ipxev1.Profile
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "attacker"}, &p); err != nil {
		t.Fatal(err)
	}
	if p.Generation != 1 || len(p.ManagedFields) > 8 || len(p.Status.Conditions) > 8 {
		t.Errorf("each request leaves something behind: %.2000v", p.Status)
	}
}

// What grows in templates of Go is no part of a script: each is refused as it is written.
func TestTemplatesThatGrow(t *testing.T) {
	s := startTemplates(t, shared.For(t))
	for name, script := range map[string]string{
		"width":     `{{ printf "%1000000d" 1 }}`,
		"range":     "{{ range 1000000000 }}x{{ end }}",
		"recursion": `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		"html":      "{{ html .c }}", "js": "{{ js .c }}", "print": "{{ print .c .c }}", "index": "{{ index .c 1 }}", "slice": "{{ slice .c 1 }}",
		"with":    "{{ with .c }}{{ . }}{{ end }}",
		"nesting": "{{ if .c }}" + strings.Repeat("{{ if .c }}", 40) + strings.Repeat("{{ end }}", 41),
		"parens":  "{{ " + strings.Repeat("(", 5000) + ".c" + strings.Repeat(")", 5000) + " }}",
		"actions": strings.Repeat("{{.c}}", 9000),
		"pipe":    "{{ .c" + strings.Repeat(" | lower", 9) + " }}",
	} {
		short := "x"
		err := s.Create(t.Context(), s.profile(name, "#!ipxe\n"+script, ipxev1.AdditionalContent{Name: "c", Inline: &short}))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.ipxe") || len(err.Error()) > 4096 {
			t.Errorf("%s: %.300v, want it to be refused", name, err)
		}
	}
	s.victimBoots()
}

// Butane of very many values costs half a minute of a processor, and its mistakes are repeated one by one.
func TestButaneOfManyValues(t *testing.T) {
	s := startTemplates(t, shared.For(t))
	butane := "variant: fcos\nversion: 1.5.0\nstorage: {files: [" + strings.Repeat("{},", 30_000) + "]}\n"
	s.create(s.profile("attacker", "#!ipxe\nchain {{ .c }}\n", ipxev1.AdditionalContent{Name: "c", Exposed: true, Transform: ipxev1.TransformButane, Inline: &butane}))
	s.says("attacker", ipxev1.ConditionTransformed, "InvalidButane", "ignition payload too large")
	s.victimBoots()
}
