package ipxeapi

import (
	"context"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

const (
	uuid = "4c4c4544-0043-3510-8052-b7c04f4e4d01"
	base = "http://boot.example"
)

// answers is what webhooks have answered.
type answers struct {
	results   map[string]content.Result
	forgotten []string
	notify    func(content.Request)
	asked     []content.Request
}

func (a *answers) Lookup(r content.Request) (content.Result, bool) {
	a.asked = append(a.asked, r)
	result, ok := a.results[r.URL]
	return result, ok
}
func (a *answers) Forget(r content.Request)            { a.forgotten = append(a.forgotten, r.URL) }
func (a *answers) Subscribe(f func(r content.Request)) { a.notify = f }

// stand is both reconcilers over an API in memory.
type stand struct {
	*controllertest.API
	view        *profile.View
	webhooks    *answers
	profiles    *Profiles
	assignments *Assignments
	queue       workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	s := &stand{API: controllertest.NewAPI(t, objects...)}
	s.restart(t)
	return s
}

// restart forgets everything that is not in the API.
func (s *stand) restart(t *testing.T) {
	t.Helper()
	s.view, s.webhooks = profile.NewView(s.Clock, nil), &answers{results: map[string]content.Result{}}
	s.view.SetSynced(true)
	serves := func(_ context.Context, namespace string) (assignment.Grant, error) {
		return assignment.Grant{Operator: namespace != "tenant"}, nil
	}
	s.profiles = &Profiles{
		Client: s.API, APIReader: s.API, View: s.view, Webhooks: s.webhooks, Key: []byte("key"), Grants: serves,
		KeysSecret: types.NamespacedName{Namespace: "default", Name: "farrier-keys"},
	}
	s.assignments = &Assignments{Client: s.API, View: s.view, Grants: serves}
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(s.queue.ShutDown)
	if err := s.assignments.wake.Start(context.Background(), s.queue); err != nil {
		t.Fatal(err)
	}
}

// settle reconciles what is named, then whatever that has woken.
func (s *stand) settle(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		kind, key, _ := strings.Cut(name, ":")
		if kind == "p" {
			s.Settle(t, s.profiles, key)
		} else {
			s.Settle(t, s.assignments, key)
		}
	}
	for s.queue.Len() > 0 {
		req, _ := s.queue.Get()
		s.Settle(t, s.assignments, req.String())
		s.queue.Done(req)
	}
}

func (s *stand) script(t *testing.T, query string) (string, error) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := assignment.NewSubject(values)
	if err != nil {
		t.Fatal(err)
	}
	script, err := s.view.Script(subject, base)
	return string(script.Body), err
}

func newProfile(name, script string, contents ...ipxev1.AdditionalContent) *ipxev1.Profile {
	return &ipxev1.Profile{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"assignment/ipxe-buildarch": "arm64"}},
		Spec:       ipxev1.ProfileSpec{IPXE: script, AdditionalContent: contents},
	}
}

func newAssignment(name, profileName string, selector map[string]string) *ipxev1.Assignment {
	return &ipxev1.Assignment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       ipxev1.AssignmentSpec{SubjectSelector: selector, ProfileName: profileName},
	}
}

func (s *stand) profileSays(t *testing.T, name, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	controllertest.Says(t, controllertest.Read[ipxev1.Profile](t, s.API, "default/"+name).Status.Conditions, kind, status, reason, parts...)
}

func (s *stand) assignmentSays(t *testing.T, name, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	controllertest.Says(t, controllertest.Read[ipxev1.Assignment](t, s.API, "default/"+name).Status.Conditions, kind, status, reason, parts...)
}

func ptr(s string) *string { return &s }

func TestContentOfAProfile(t *testing.T) {
	key := func(namespace, name string) *ipxev1.KeyReference {
		return &ipxev1.KeyReference{Namespace: namespace, Name: name, Key: "k"}
	}
	secret := func(namespace, name, value string, annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}, Data: map[string][]byte{"k": []byte(value)}}
	}
	grant := func(to string) map[string]string { return map[string]string{ipxev1.AnnotationAllowProfilesFrom: to} }
	for name, c := range map[string]struct {
		content ipxev1.AdditionalContent
		objects []client.Object
		script  string // what {{ .c }} becomes; empty: it is not ready
		reason  string
		says    string
	}{
		"inline":                       {content: ipxev1.AdditionalContent{Inline: ptr("a=b")}, script: "a=b"},
		"a Secret":                     {content: ipxev1.AdditionalContent{SecretRef: key("", "s")}, objects: []client.Object{secret("default", "s", "v\n", nil)}, script: "v"},
		"a Secret that is not there":   {content: ipxev1.AdditionalContent{SecretRef: key("", "s")}, reason: reasonContentUnavailable, says: `Secret "s" does not exist`},
		"a command in a Secret":        {content: ipxev1.AdditionalContent{SecretRef: key("", "s")}, objects: []client.Object{secret("default", "s", "v\nshell", nil)}, reason: reasonContentUnavailable, says: "newline"},
		"the keys of everything":       {content: ipxev1.AdditionalContent{SecretRef: key("", "farrier-keys")}, objects: []client.Object{secret("default", "farrier-keys", "v", nil)}, reason: reasonContentUnavailable, says: "not for machines"},
		"another namespace":            {content: ipxev1.AdditionalContent{SecretRef: key("other", "s")}, objects: []client.Object{secret("other", "s", "v", nil)}, reason: reasonContentUnavailable, says: "that allows this one"},
		"another namespace, for third": {content: ipxev1.AdditionalContent{SecretRef: key("other", "s")}, objects: []client.Object{secret("other", "s", "v", grant("x, y"))}, reason: reasonContentUnavailable, says: "that allows this one"},
		"nothing in another namespace": {content: ipxev1.AdditionalContent{SecretRef: key("other", "s")}, reason: reasonContentUnavailable, says: "that allows this one"},
		"a grant":                      {content: ipxev1.AdditionalContent{SecretRef: key("other", "s")}, objects: []client.Object{secret("other", "s", "v", grant("x, default"))}, script: "v"},
		"a grant to all":               {content: ipxev1.AdditionalContent{SecretRef: key("other", "s")}, objects: []client.Object{secret("other", "s", "v", grant("*"))}, script: "v"},
		"no source":                    {content: ipxev1.AdditionalContent{}, reason: reasonContentUnavailable, says: "0 sources"},
		"two sources":                  {content: ipxev1.AdditionalContent{Inline: ptr("a"), SecretRef: key("", "s")}, reason: reasonContentUnavailable, says: "2 sources"},
		"bad Butane":                   {content: ipxev1.AdditionalContent{Inline: ptr("variant: nobody"), Transform: ipxev1.TransformButane}, reason: reasonInvalidButane, says: "c:"},
		"a webhook that is not asked":  {content: ipxev1.AdditionalContent{Webhook: &ipxev1.Webhook{URL: "https://example.com"}}, reason: reasonContentUnavailable, says: "has not answered yet"},
	} {
		t.Run(name, func(t *testing.T) {
			c.content.Name = "c"
			s := newStand(t, append(c.objects, newProfile("p", "#!ipxe\necho {{ .c }}\n", c.content), newAssignment("a", "p", map[string]string{"uuid": uuid}))...)
			s.settle(t, "p:default/p", "a:default/a")
			if c.script != "" {
				s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionTrue, reasonReady)
				s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionTrue, reasonProgrammed)
				if got, err := s.script(t, "uuid="+uuid); err != nil || got != "#!ipxe\necho "+c.script+"\n" {
					t.Errorf("script %q, %v", got, err)
				}
				return
			}
			s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionFalse, c.reason, c.says)
			s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionFalse, reasonProfileNotReady, c.says)
			if got, err := s.script(t, "uuid="+uuid); err == nil {
				t.Errorf("its machine is given %q", got)
			}
		})
	}
}

func TestWebhookKeepsItsLastGoodAnswer(t *testing.T) {
	const address = "https://example.com/c"
	s := newStand(t, newProfile("p", "#!ipxe\necho {{ .c }}\n", ipxev1.AdditionalContent{Name: "c", Webhook: &ipxev1.Webhook{URL: address}}))
	s.webhooks.results[address] = content.Result{Bytes: []byte("v1"), Found: true}
	s.settle(t, "p:default/p")
	s.profileSays(t, "p", ipxev1.ConditionContentResolved, metav1.ConditionTrue, reasonResolved)

	s.webhooks.results[address] = content.Result{Bytes: []byte("v1"), Found: true, Err: context.DeadlineExceeded}
	s.settle(t, "p:default/p")
	s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionTrue, reasonReady)
	s.profileSays(t, "p", ipxev1.ConditionContentResolved, metav1.ConditionFalse, reasonContentStale, "last good answer")

	s.Remove(t, controllertest.Read[ipxev1.Profile](t, s.API, "default/p"))
	s.settle(t, "p:default/p")
	if len(s.webhooks.forgotten) != 1 {
		t.Errorf("forgotten %q, want %q", s.webhooks.forgotten, address)
	}
}

// A script that cannot be rendered for some machine says so, until it is corrected.
func TestARefusedRenderingIsACondition(t *testing.T) {
	script := "#!ipxe\n{{ if .Subject.mac }}" + strings.Repeat("{{ if eq (urlquery c) c }}{{ end }}", 20) + "{{ end }}"
	s := newStand(t, newProfile("p", script, ipxev1.AdditionalContent{Name: "c", Inline: ptr(strings.Repeat("%", 20000))}),
		newAssignment("a", "p", map[string]string{"uuid": uuid}))
	s.settle(t, "p:default/p", "a:default/a")
	if _, err := s.script(t, "uuid="+uuid); err != nil {
		t.Errorf("a machine without the label: %v", err)
	}
	if _, err := s.script(t, "uuid="+uuid+"&mac=02:fa:44:00:01:01"); err == nil {
		t.Error("there is no limit")
	}
	s.settle(t, "p:default/p")
	s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionTrue, reasonReady)
	s.profileSays(t, "p", ipxev1.ConditionRendered, metav1.ConditionFalse, ipxev1.ReasonRefused, "spec.ipxe", "262144 bytes")
	controllertest.Change(t, s.API, "default/p", func(p *ipxev1.Profile) { p.Spec.IPXE = "#!ipxe\nshell\n" })
	s.settle(t, "p:default/p")
	for _, c := range controllertest.Read[ipxev1.Profile](t, s.API, "default/p").Status.Conditions {
		if c.Type == ipxev1.ConditionRendered {
			t.Errorf("it still says %+v", c)
		}
	}
}

// What can be known when a script is written is said then.
func TestAScriptBeyondItsBoundsIsNotReady(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\n{{ .c | urlquery }}\n", ipxev1.AdditionalContent{Name: "c", Inline: ptr(strings.Repeat("%", 1<<20))}),
		newProfile("q", "#!ipxe\n{{ .c"+strings.Repeat(" | urlquery", 20)+" }}\n", ipxev1.AdditionalContent{Name: "c", Inline: ptr("x")}))
	s.settle(t, "p:default/p", "p:default/q")
	s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionFalse, reasonInvalidTemplate, "spec.ipxe", `config "c" has 1048576 bytes`)
	s.profileSays(t, "q", ipxev1.ConditionReady, metav1.ConditionFalse, reasonInvalidTemplate, "spec.ipxe", "the pipe has 21 commands")
}

func TestADeletedProfileIsNeverTheDefault(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\necho own\n"), newProfile("q", "#!ipxe\necho default\n"),
		newAssignment("a", "p", map[string]string{"uuid": uuid}), newAssignment("default", "q", nil))
	s.settle(t, "p:default/p", "p:default/q", "a:default/a", "a:default/default")
	s.Remove(t, controllertest.Read[ipxev1.Profile](t, s.API, "default/p"))
	s.settle(t, "p:default/p", "a:default/a")
	if got, err := s.script(t, "uuid="+uuid); err == nil {
		t.Errorf("its machine is given %q", got)
	}
	s.assignmentSays(t, "a", ipxev1.ConditionProfileResolved, metav1.ConditionFalse, reasonProfileMissing, `"p"`)
	if got, err := s.script(t, "uuid=4c4c4544-0043-3510-8052-b7c04f4e4d02"); err != nil || !strings.Contains(got, "default") {
		t.Errorf("others are given %q, %v", got, err)
	}
}

func TestConflictsComeAndGo(t *testing.T) {
	s := newStand(t, newProfile("p", "#!ipxe\necho p\n"), newProfile("q", "#!ipxe\necho q\n"))
	s.settle(t, "p:default/p", "p:default/q")
	// Both at the same moment: the name decides.
	s.Add(t, newAssignment("b", "q", map[string]string{"uuid": strings.ToUpper(uuid)}))
	s.settle(t, "a:default/b")
	s.assignmentSays(t, "b", ipxev1.ConditionConflicted, metav1.ConditionFalse, reasonNoConflict)
	s.Add(t, newAssignment("a", "p", map[string]string{"uuids": uuid}))
	s.settle(t, "a:default/a")
	s.assignmentSays(t, "a", ipxev1.ConditionConflicted, metav1.ConditionFalse, reasonNoConflict)
	s.assignmentSays(t, "b", ipxev1.ConditionConflicted, metav1.ConditionTrue, ipxev1.ReasonDuplicate, `"a"`)
	s.assignmentSays(t, "b", ipxev1.ConditionProgrammed, metav1.ConditionFalse, ipxev1.ReasonDuplicate)

	s.Remove(t, controllertest.Read[ipxev1.Assignment](t, s.API, "default/a"))
	s.settle(t, "a:default/a")
	s.assignmentSays(t, "b", ipxev1.ConditionConflicted, metav1.ConditionFalse, reasonNoConflict)
	if got, err := s.script(t, "uuid="+uuid); err != nil || !strings.Contains(got, "echo q") {
		t.Errorf("script %q, %v", got, err)
	}
}

func TestProfileSelectors(t *testing.T) {
	a := newAssignment("a", "", map[string]string{"uuid": uuid})
	a.Spec.ProfileSelectors = map[string]string{"assigment/ipxe-buildarch": "arm64"}
	s := newStand(t, newProfile("p", "#!ipxe\necho p\n"), newProfile("q", "#!ipxe\necho q\n"), a)
	s.settle(t, "p:default/p", "p:default/q", "a:default/a")
	s.assignmentSays(t, "a", ipxev1.ConditionProfileResolved, metav1.ConditionFalse, reasonProfileMissing, `Profile "p" has assignment/ipxe-buildarch=arm64`)
	controllertest.Change(t, s.API, "default/a", func(a *ipxev1.Assignment) {
		a.Spec.ProfileSelectors = map[string]string{"assignment/ipxe/buildarch": "arm64"} // came past admission
	})
	s.settle(t, "a:default/a")
	s.assignmentSays(t, "a", ipxev1.ConditionProfileResolved, metav1.ConditionTrue, ipxev1.ReasonProfileAmbiguous, `Farrier serves Profile "p"`, "q")
}

func TestBootConfigurationsAndNamespaces(t *testing.T) {
	server := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: metalv1.ServerSpec{
		SystemUUID: uuid, BootConfigurationRef: &metalv1.ObjectReference{Namespace: "default", Name: "c"},
	}}
	foreigner := newAssignment("f", "p", nil)
	foreigner.Namespace = "tenant"
	s := newStand(t, server, newProfile("p", "#!ipxe\n"), newAssignment("a", "p", map[string]string{"uuid": strings.ToUpper(uuid)}), foreigner)
	s.settle(t, "p:default/p", "a:default/a", "a:tenant/f")
	s.assignmentSays(t, "a", ipxev1.ConditionOverridden, metav1.ConditionTrue, reasonBootConfig, `Server "s"`)
	if woken := s.assignments.namingServer(t.Context(), server); len(woken) != 1 || woken[0].Name != "a" {
		t.Errorf("the Server wakes %v", woken)
	}
	conditions := controllertest.Read[ipxev1.Assignment](t, s.API, "tenant/f").Status.Conditions
	controllertest.Says(t, conditions, ipxev1.ConditionAccepted, metav1.ConditionFalse, ipxev1.ReasonNotGranted)
	if _, ok := s.view.Get("tenant", "f"); ok {
		t.Error("an assignment of a namespace that does not count is in the view")
	}
}
