package bmcsettings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

func TestVariablesArePutIn(t *testing.T) {
	v := variables{"A": textOf("one", false), "B": textOf(`"2"`, false), "S": textOf("hush", true), "E": textOf("", false)}
	for name, tc := range map[string]struct {
		in, want, reason string
		escape           func(string) string
		secret           bool
	}{
		"none":                           {in: "text", want: "text"},
		"one":                            {in: "x$(A)y", want: "xoney"},
		"several":                        {in: "$(A)$(E)$(A)", want: "oneone"},
		"a literal":                      {in: "$$(A) $(A)", want: "$(A) one"},
		"a literal alone":                {in: "$$(NOBODY)", want: "$(NOBODY)"},
		"dollars":                        {in: "5$ $ $x ()", want: "5$ $ $x ()"},
		"not ended":                      {in: "a $(A", want: "a $(A"},
		"from a Secret":                  {in: "$(A)$(S)", want: "onehush", secret: true},
		"into JSON":                      {in: `{"a": "$(B)"}`, want: `{"a": "\"2\""}`, escape: quoted},
		"nobody's":                       {in: "$(C)", reason: reasonUnknownVariable},
		"what is too long":               {in: strings.Repeat("x", maxText+1), reason: reasonTooLong},
		"what is put in is no reference": {in: "$(D)", want: "$(A)"},
	} {
		t.Run(name, func(t *testing.T) {
			v["D"] = textOf("$(A)", false)
			escape := tc.escape
			if escape == nil {
				escape = plain
			}
			got, err := v.expand(tc.in, escape)
			if reasonOf(err, "") != tc.reason {
				t.Fatalf("error %v, want reason %q", err, tc.reason)
			}
			if err == nil && (got.reveal() != tc.want || got.secret != tc.secret) {
				t.Errorf("%q, of a Secret %v; want %q", got.reveal(), got.secret, tc.want)
			}
		})
	}
}

// TestNoSecretIsPrinted with what holds it, however it is printed.
func TestNoSecretIsPrinted(t *testing.T) {
	s := setting{name: "a", text: textOf("hush", true)}
	v := &view{wanted: []setting{s}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if out := fmt.Sprintf(format, s) + fmt.Sprintf(format, v) + fmt.Sprintf(format, variables{"a": s.text}); strings.Contains(out, "hush") {
			t.Errorf("%s prints %s", format, out)
		}
	}
}

// TestWhatASettingCanBe: of what cannot be, the reason says what is wrong, and the message where.
func TestWhatASettingCanBe(t *testing.T) {
	const protocol = "PATCH /redfish/v1/Managers/1/NetworkProtocol"
	v := variables{"PORT": textOf("22", false), "S": textOf(`hush","x":"`, true)}
	for name, tc := range map[string]struct{ name, value, reason, says string }{
		"an attribute":                {name: "SSH.1.Port", value: "$(PORT)"},
		"a document":                  {name: protocol, value: `{"SSH": {"Port": $(PORT)}}`},
		"a secret ends no string":     {name: protocol, value: `{"SSH": {"Banner": "$(S)"}}`},
		"a collection":                {name: "POST /redfish/v1/EventService/Subscriptions", value: `{"Destination": "x"}`},
		"another method":              {name: "DELETE /redfish/v1/Managers/1", value: `{"a": 1}`, reason: reasonInvalidMethod, says: "PATCH, POST, PUT"},
		"a method in small letters":   {name: "patch /redfish/v1/Managers/1", value: `{"a": 1}`, reason: reasonInvalidMethod},
		"no method":                   {name: "/redfish/v1/Managers/1", value: `{"a": 1}`, reason: reasonInvalidMethod},
		"another host":                {name: "PATCH https://a/redfish/v1/Managers/1", value: `{"a": 1}`, reason: reasonInvalidURI, says: "not below /redfish/v1"},
		"outside of Redfish":          {name: "PATCH /api/settings", value: `{"a": 1}`, reason: reasonInvalidURI},
		"Redfish itself":              {name: "PATCH /redfish/v1", value: `{"a": 1}`, reason: reasonInvalidURI},
		"a way out":                   {name: "PATCH /redfish/v1/../../api", value: `{"a": 1}`, reason: reasonInvalidURI},
		"a way out that is escaped":   {name: "PATCH /redfish/v1/%2e%2e/api", value: `{"a": 1}`, reason: reasonInvalidURI},
		"a query":                     {name: "PATCH /redfish/v1/Managers/1?a=b", value: `{"a": 1}`, reason: reasonInvalidURI},
		"two spaces":                  {name: "PATCH  /redfish/v1/Managers/1", value: `{"a": 1}`, reason: reasonInvalidURI},
		"an action":                   {name: "POST /redfish/v1/Managers/1/Actions/Manager.Reset", value: `{"a": 1}`, reason: reasonInvalidURI, says: "is an action"},
		"an account":                  {name: "PATCH /redfish/v1/AccountService/Accounts/1", value: `{"Password": "x"}`, reason: reasonInvalidURI, says: "BMCSecrets"},
		"the rules of accounts":       {name: "PATCH /redfish/v1/AccountService", value: `{"AccountLockoutThreshold": 5}`},
		"no JSON":                     {name: protocol, value: `{"a": }`, reason: reasonInvalidDocument, says: "byte 7"},
		"no object":                   {name: protocol, value: `["a"]`, reason: reasonInvalidDocument},
		"nothing":                     {name: protocol, value: `{}`, reason: reasonInvalidDocument, says: "asks for nothing"},
		"too deep":                    {name: protocol, value: strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), reason: reasonInvalidDocument, says: "nested"},
		"an unknown variable":         {name: protocol, value: `{"a": "$(NOBODY)"}`, reason: reasonUnknownVariable, says: "$(NOBODY)"},
		"a secret that breaks a JSON": {name: protocol, value: `{"a": $(S)}`, reason: reasonInvalidDocument},
		"a long URI":                  {name: "PATCH /redfish/v1/" + strings.Repeat("a", 600), value: `{"a": 1}`, reason: reasonInvalidURI, says: "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := settingsOf(map[string]string{tc.name: tc.value}, v)
			if reasonOf(err, "") != tc.reason {
				t.Fatalf("error %v, want reason %q", err, tc.reason)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "spec.settings[") || strings.Contains(err.Error(), "hush") {
					t.Errorf("it says %q", err)
				}
				return
			}
			if all[0].document != nil && strings.Contains(tc.value, "$(S)") {
				if banner := all[0].document()["SSH"].(map[string]any)["Banner"]; banner != `hush","x":"` {
					t.Errorf("the document has %v", banner)
				}
			}
		})
	}
}

func TestWhatAResourceContains(t *testing.T) {
	for name, tc := range map[string]struct {
		now, wanted string
		secret      bool
		want        match
	}{
		"the same":                  {`{"a": 1}`, `{"a": 1}`, false, contained},
		"more":                      {`{"a": 1, "b": 2}`, `{"a": 1}`, false, contained},
		"more below":                {`{"a": {"b": true, "c": null}}`, `{"a": {"b": true}}`, false, contained},
		"another value":             {`{"a": 1}`, `{"a": 2}`, false, differs},
		"another type":              {`{"a": "1"}`, `{"a": 1}`, false, differs},
		"nothing":                   {`{}`, `{"a": 1}`, false, differs},
		"no object":                 {`{"a": 1}`, `{"a": {"b": 1}}`, false, differs},
		"a list":                    {`{"a": [1, {"b": 2, "c": 3}]}`, `{"a": [1, {"b": 2}]}`, false, contained},
		"a longer list":             {`{"a": [1, 2]}`, `{"a": [1]}`, false, differs},
		"another order":             {`{"a": [1, 2]}`, `{"a": [2, 1]}`, false, differs},
		"null":                      {`{"a": null}`, `{"a": null}`, false, contained},
		"a password that is hidden": {`{"a": {"p": null, "q": 1}}`, `{"a": {"p": "x", "q": 1}}`, true, hidden},
		"one in asterisks":          {`{"p": "****"}`, `{"p": "x"}`, true, hidden},
		"one of nobody's":           {`{"p": null}`, `{"p": "x"}`, false, differs},
		"one beside a difference":   {`{"p": null, "q": 2}`, `{"p": "x", "q": 1}`, true, differs},
		"another one":               {`{"p": "y"}`, `{"p": "x"}`, true, differs},
	} {
		t.Run(name, func(t *testing.T) {
			var now, wanted any
			if err := json.Unmarshal([]byte(tc.now), &now); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.wanted), &wanted); err != nil {
				t.Fatal(err)
			}
			if got := contains(now, wanted, tc.secret); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestFields(t *testing.T) {
	obj := wanted(func(b *metalv1.BMCSettings) {
		b.Labels = map[string]string{"rack": "7", "example.org/row": "b"}
		b.Annotations = map[string]string{annotationProgress: "{}"}
		b.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
		b.Generation = 3
	})
	for path, tc := range map[string]struct{ want, reason string }{
		"metadata.name":                      {want: "b"},
		".metadata.name":                     {want: "b"},
		"spec.BMCRef.name":                   {want: "bmc"},
		"metadata.labels.rack":               {want: "7"},
		"metadata.labels['rack']":            {want: "7"},
		`metadata.labels["example.org/row"]`: {want: "b"},
		"spec.retryPolicy.maxAttempts":       {want: "0"},
		"metadata.labels['other']":           {reason: reasonFieldMissing},
		"spec.variables[7].key":              {reason: reasonFieldMissing},
		"metadata.labels":                    {reason: reasonInvalidFieldPath},
		"metadata.generation":                {reason: reasonInvalidFieldPath},
		"metadata.resourceVersion":           {reason: reasonInvalidFieldPath},
		"status.conditions[0].type":          {reason: reasonInvalidFieldPath},
		"metadata.annotations['farrier.dev/bmc-settings-progress']": {reason: reasonInvalidFieldPath},
		"metadata.labels[":      {reason: reasonInvalidFieldPath},
		"metadata.labels[rack]": {reason: reasonInvalidFieldPath},
		"a..b":                  {reason: reasonInvalidFieldPath},
		"":                      {reason: reasonInvalidFieldPath},
	} {
		got, err := ownField(obj, path)
		if diff := cmp.Diff(tc.want+tc.reason, got+reasonOf(err, "")); diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", path, err, diff)
		}
	}
}
