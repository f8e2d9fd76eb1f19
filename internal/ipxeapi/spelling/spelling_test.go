package spelling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

func TestSelector(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		spec      ipxev1.AssignmentSpec
		want      assignment.Selector
		isDefault bool
		uncounted []string
	}{
		"this version": {spec: ipxev1.AssignmentSpec{SubjectSelector: map[string]string{"serial": "a"}}, want: assignment.Selector{"serial": {"a"}}},
		"this version, a label without values": {
			spec: ipxev1.AssignmentSpec{SubjectSelectors: map[string][]string{"serial": {}}}, want: assignment.Selector{"serial": {}},
		},
		"a default": {
			spec: ipxev1.AssignmentSpec{IsDefault: &yes, SubjectSelectors: map[string][]string{"buildarch": {"aarch64"}, "uuidList": {}}},
			want: assignment.Selector{"buildarch": {"arm64"}}, isDefault: true,
		},
		"a default that names machines": {
			spec: ipxev1.AssignmentSpec{IsDefault: &yes, SubjectSelectors: map[string][]string{"buildarch": {"i386"}, "uuidList": {"47c6da67-7477-4970-aa03-84e48ff4f6ad"}}},
			want: assignment.Selector{"buildarch": {"i386"}}, isDefault: true, uncounted: []string{"uuidList"},
		},
		"a default of all machines": {spec: ipxev1.AssignmentSpec{IsDefault: &yes}, want: assignment.Selector{}, isDefault: true},
		"no default": {
			spec: ipxev1.AssignmentSpec{IsDefault: &no, SubjectSelectors: map[string][]string{"buildarch": {}, "uuidList": {"47C6DA67-7477-4970-AA03-84E48FF4F6AD"}}},
			want: assignment.Selector{"uuid": {"47c6da67-7477-4970-aa03-84e48ff4f6ad"}},
		},
		"no default, and nothing else": {
			spec: ipxev1.AssignmentSpec{IsDefault: &no, SubjectSelectors: map[string][]string{"buildarch": {}, "uuidList": {}}}, want: assignment.Selector{"uuid": {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.spec.DeepCopy()
			got, isDefault := Selector(&c.spec)
			if diff := cmp.Diff(c.want, got); diff != "" || isDefault != c.isDefault {
				t.Errorf("default %t (-want +got):\n%s", isDefault, diff)
			}
			if diff := cmp.Diff(c.uncounted, Uncounted(&c.spec)); diff != "" {
				t.Errorf("uncounted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &c.spec); diff != "" {
				t.Errorf("the spec was changed:\n%s", diff)
			}
		})
	}
}

func ref(resource, namespace, name string) ipxev1.ResourceReference {
	return ipxev1.ResourceReference{Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

func TestProfile(t *testing.T) {
	text := "text"
	webhook := &ipxev1.Webhook{URL: "https://a", MTLSRef: &ipxev1.WebhookMTLSRef{
		ResourceReference: ref("secrets", "other", "tls"), ClientCertJSONPath: `.data.tls\.crt`, ClientKeyJSONPath: ".data.'client.key'",
	}, BasicAuthRef: &ipxev1.WebhookBasicAuthRef{ResourceReference: ref("Secret", "", "login"), UsernameJSONPath: ".data.user", PasswordJSONPath: "{.data['pass word']}"}}
	spec := &ipxev1.ProfileSpec{IPXETemplate: "#!ipxe\n", AdditionalContent: []ipxev1.AdditionalContent{
		{Name: "inline", Inline: &text, PostTransformations: []ipxev1.PostTransformation{{ButaneToIgnition: true}}},
		{Name: "secret", Exposed: true, ObjectRef: &ipxev1.ObjectReference{ResourceReference: ref("secrets", "n", "s"), JSONPath: ".data.k"}},
		{Name: "map", ObjectRef: &ipxev1.ObjectReference{ResourceReference: ref("configmaps", "", "m"), JSONPath: ".data.k"}},
		{Name: "webhook", Webhook: webhook},
	}}
	before := spec.DeepCopy()
	got, problems := Profile(spec)
	want := ipxev1.ProfileSpec{IPXE: "#!ipxe\n", AdditionalContent: []ipxev1.AdditionalContent{
		{Name: "inline", Inline: &text, Transform: ipxev1.TransformButane},
		{Name: "secret", Exposed: true, SecretRef: &ipxev1.KeyReference{Namespace: "n", Name: "s", Key: "k"}},
		{Name: "map", ConfigMapRef: &ipxev1.KeyReference{Name: "m", Key: "k"}},
		{Name: "webhook", Webhook: webhook},
	}}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", problems, diff)
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("the spec was changed:\n%s", diff)
	}
	mtls, _ := MTLS(webhook)
	login, _ := BasicAuth(webhook)
	if diff := cmp.Diff([]*Secret{
		{Namespace: "other", Name: "tls", Certificate: "tls.crt", PrivateKey: "client.key"}, {Name: "login", Username: "user", Password: "pass word"},
	}, []*Secret{mtls, login}); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
}

// TestWhatCannotBeSaid is named by its field, and its content is none.
func TestWhatCannotBeSaid(t *testing.T) {
	object := func(r ipxev1.ResourceReference, path string) ipxev1.AdditionalContent {
		return ipxev1.AdditionalContent{ObjectRef: &ipxev1.ObjectReference{ResourceReference: r, JSONPath: path}}
	}
	asked := func(w ipxev1.Webhook) ipxev1.AdditionalContent { return ipxev1.AdditionalContent{Webhook: &w} }
	foreign := ref("things", "", "t")
	foreign.Group = "example.com"
	for field, c := range map[string]ipxev1.AdditionalContent{
		"objectRef.jsonpath":                    object(ref("secrets", "", "s"), ".spec.x"),
		"objectRef.resource":                    object(foreign, ".data.k"),
		"postTransformations[1].webhook":        {PostTransformations: []ipxev1.PostTransformation{{}, {Webhook: &runtime.RawExtension{}}}},
		"webhook.mTLSRef.tlsInsecureSkipVerify": asked(ipxev1.Webhook{MTLSRef: &ipxev1.WebhookMTLSRef{ResourceReference: ref("secrets", "", "s"), TLSInsecureSkipVerify: true}}),
		"webhook.mTLSRef.resource":              asked(ipxev1.Webhook{MTLSRef: &ipxev1.WebhookMTLSRef{ResourceReference: foreign}}),
		"webhook.mTLSRef.clientCertJSONPath":    asked(ipxev1.Webhook{MTLSRef: &ipxev1.WebhookMTLSRef{ResourceReference: ref("secrets", "", "s")}}),
		"webhook.basicAuthRef.passwordJSONPath": asked(ipxev1.Webhook{BasicAuthRef: &ipxev1.WebhookBasicAuthRef{ResourceReference: ref("secrets", "", "s"), UsernameJSONPath: ".data.u"}}),
	} {
		c.Name = "c"
		got, problems := Profile(&ipxev1.ProfileSpec{AdditionalContent: []ipxev1.AdditionalContent{{Name: "first"}, c}})
		if len(problems) != 1 || problems[0].Field != field || problems[0].Content != 1 || problems[0].Error() == "" {
			t.Errorf("%s: %v", field, problems)
		}
		if diff := cmp.Diff(ipxev1.AdditionalContent{Name: "c"}, got.AdditionalContent[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

func TestKey(t *testing.T) {
	for path, want := range map[string]string{
		".data.key": "key", `.data.tls\.crt`: "tls.crt", ".data.'client.key'": "client.key", "{.data['a b']}": "a b",
		".spec.x": "", "": "", ".data": "", ".data.a.b": "",
	} {
		if got, err := Key(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}
