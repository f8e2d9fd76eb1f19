package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// TestTheAuditPolicyRecordsChangesAndSecrets reads the policy as the API server does.
func TestTheAuditPolicyRecordsChangesAndSecrets(t *testing.T) {
	parsed, err := policy.LoadPolicyFromBytes(defaultAuditPolicy)
	if err != nil {
		t.Fatal(err)
	}
	rules := policy.NewPolicyRuleEvaluator(parsed)
	resource := func(who, verb, group, resource string) authorizer.AttributesRecord {
		resource, sub, _ := strings.Cut(resource, "/")
		return authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: who}, Verb: verb, APIGroup: group, Resource: resource, Subresource: sub, Namespace: "default", Name: "x", ResourceRequest: true,
		}
	}
	path := func(verb, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "eve"}, Verb: verb, Path: path}
	}
	const metal = "metal.ironcore.dev"
	for _, c := range []struct {
		what authorizer.AttributesRecord
		want auditinternal.Level
	}{
		{resource("eve", "get", "", "secrets"), auditinternal.LevelMetadata},
		{resource("eve", "watch", "", "secrets"), auditinternal.LevelMetadata},
		{resource("eve", "create", "", "secrets"), auditinternal.LevelMetadata},
		{resource("eve", "list", metal, "bmcsecrets"), auditinternal.LevelMetadata},
		{resource("eve", "create", "", "serviceaccounts/token"), auditinternal.LevelMetadata},
		{resource("eve", "create", metal, "serverclaims"), auditinternal.LevelMetadata},
		{resource("eve", "patch", metal, "servers/status"), auditinternal.LevelMetadata},
		{resource("eve", "deletecollection", "", "resourcequotas"), auditinternal.LevelMetadata},
		{resource("eve", "delete", "rbac.authorization.k8s.io", "clusterrolebindings"), auditinternal.LevelMetadata},
		{path("post", "/apis/none"), auditinternal.LevelNone},
		{resource("eve", "list", metal, "servers"), auditinternal.LevelNone},
		{resource("eve", "create", "", "events"), auditinternal.LevelNone},
		{resource("eve", "update", "coordination.k8s.io", "leases"), auditinternal.LevelNone},
		{resource("system:apiserver", "update", metal, "servers"), auditinternal.LevelNone},
		{path("get", "/readyz/etcd"), auditinternal.LevelNone},
		{path("get", "/openapi/v3"), auditinternal.LevelNone},
	} {
		if got := rules.EvaluatePolicyRule(c.what).Level; got != c.want {
			t.Errorf("%s %s %s/%s %s: %s, want %s", c.what.User.GetName(), c.what.Verb, c.what.APIGroup, c.what.Resource, c.what.Path, got, c.want)
		}
	}
	for _, rule := range parsed.Rules {
		if rule.Level != auditinternal.LevelNone && rule.Level != auditinternal.LevelMetadata {
			t.Errorf("a rule records bodies: %s", rule.Level)
		}
	}
}

func TestAuditIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		audit Audit
		want  string // part of the error; empty: accepted
	}{
		"nothing said":        {},
		"the default":         {audit: DefaultAudit()},
		"without a size":      {audit: Audit{MaxBackups: 1, MaxAge: 1}, want: "--audit-log-max-size"},
		"of one megabyte":     {audit: Audit{MaxSize: 1, MaxBackups: 1, MaxAge: 1}, want: "--audit-log-max-size"},
		"without a number":    {audit: Audit{MaxSize: 2, MaxAge: 1}, want: "--audit-log-max-backups"},
		"negative":            {audit: Audit{MaxSize: 2, MaxBackups: 1, MaxAge: -1}, want: "--audit-log-max-age"},
		"off":                 {audit: Audit{Disabled: true}},
		"off, with a policy":  {audit: Audit{Disabled: true, PolicyFile: "x", MaxSize: 2, MaxBackups: 1, MaxAge: 1}, want: "--audit-policy-file"},
		"off, with its sizes": {audit: Audit{Disabled: true, MaxSize: 2, MaxBackups: 1, MaxAge: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.audit.check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err == nil && !c.audit.Disabled && (c.audit.MaxSize == 0 || c.audit.MaxBackups == 0 || c.audit.MaxAge == 0) {
				t.Errorf("without an end: %+v", c.audit)
			}
		})
	}
}

func TestAuditPolicyOfAFile(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(own, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"": filepath.Join(dir, "policy.yaml"), own: own} {
		opts := genericoptions.NewAuditOptions()
		if err := auditOptions(opts, Audit{PolicyFile: file, MaxSize: 2, MaxBackups: 1, MaxAge: 1}, dir); err != nil || opts.PolicyFile != want {
			t.Errorf("%q: policy %q (%v), want %q", file, opts.PolicyFile, err, want)
		}
	}
	for _, bad := range []string{filepath.Join(dir, "none"), dir} {
		err := auditOptions(genericoptions.NewAuditOptions(), Audit{PolicyFile: bad}, dir)
		if err == nil || !strings.Contains(err.Error(), "--audit-policy-file") || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v, want an error that names flag and file", bad, err)
		}
	}
}
