{{/* Labels of every object. */}}
{{- define "farrier.labels" -}}
app.kubernetes.io/part-of: farrier
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* What selects the pods of the manager. config/webhook/service.yaml selects by the first alone. */}}
{{- define "farrier.selector" -}}
app.kubernetes.io/name: farrier-manager
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The name of an object that belongs to no namespace: of those each installation has its own. Takes a dict of root and name. */}}
{{- define "farrier.clusterName" -}}
{{ .name }}{{ with .root.Values.watchFilter }}.{{ . }}{{ end }}
{{- end }}

{{/* The objects of a file of config/, of which the chart has a copy, in the namespace of the release. Takes a dict of the root, the
     path, and what is left out: "Kind/name". */}}
{{- define "farrier.objects" -}}
{{- $root := .root }}
{{- $without := .without }}
{{- range $part := splitList "\n---\n" ($root.Files.Get .path) }}
{{- $object := fromYaml $part }}
{{- if not (has (printf "%s/%s" $object.kind $object.metadata.name) $without) }}
{{- if hasKey $object.metadata "namespace" }}
{{- $_ := set $object.metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- range (dig "subjects" list $object) }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
{{- if hasPrefix "ClusterRole" $object.kind }}
{{- $_ := set $object.metadata "name" (include "farrier.clusterName" (dict "root" $root "name" $object.metadata.name)) }}
{{- end }}
{{- if eq (dig "roleRef" "kind" "" $object) "ClusterRole" }}
{{- $_ := set $object.roleRef "name" (include "farrier.clusterName" (dict "root" $root "name" $object.roleRef.name)) }}
{{- end }}
{{- range (dig "rules" list $object) }}
{{- if has "mutatingwebhookconfigurations" (dig "resources" list .) }}
{{- $_ := set . "resourceNames" (list (include "farrier.clusterName" (dict "root" $root "name" "farrier"))) }}
{{- end }}
{{- end }}
{{- $_ := set $object.metadata "labels" (include "farrier.labels" $root | fromYaml) }}
---
{{ toYaml $object }}
{{ end }}
{{- end }}
{{- end }}

{{/* Where the certificate of the webhooks comes from: cert-manager, self or secret. */}}
{{- define "farrier.certs" -}}
{{- $mode := .Values.certs.mode }}
{{- if eq $mode "auto" }}
{{- $mode = ternary "cert-manager" "self" (.Capabilities.APIVersions.Has "cert-manager.io/v1") }}
{{- end }}
{{- if eq $mode "secret" }}
{{- if not .Values.certs.secret.name }}
{{- fail "certs.secret.name: certs.mode is secret, so name the Secret of the certificate" }}
{{- end }}
{{- if not .Values.certs.secret.caBundle }}
{{- fail "certs.secret.caBundle: certs.mode is secret, so give the authorities of the certificate in PEM" }}
{{- end }}
{{- end }}
{{- $mode }}
{{- end }}

{{/* The Secret with the certificate of the webhooks, if it is mounted. */}}
{{- define "farrier.certSecret" -}}
{{- if eq (include "farrier.certs" .) "secret" }}{{ .Values.certs.secret.name }}{{ else }}farrier-webhook-certificate{{ end }}
{{- end }}

{{/* An image. Takes a dict of root and image. */}}
{{- define "farrier.image" -}}
{{ .image.repository }}{{ if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The volume of data of kind emptyDir or claim. */}}
{{- define "farrier.dataVolume" -}}
{{- if eq .kind "claim" -}}
ephemeral:
  volumeClaimTemplate:
    spec:
      accessModes:
        - ReadWriteOnce
      {{- with .storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources:
        requests:
          storage: {{ .size }}
{{- else -}}
emptyDir:
  sizeLimit: {{ .size }}
{{- end }}
{{- end }}
