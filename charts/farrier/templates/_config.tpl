{{/* A value of a flag as the file --config wants it. Helm reads whole numbers as floating point, and 10737418240 would become 1.073741824e+10. */}}
{{- define "farrier.scalar" -}}
{{- if kindIs "string" . }}{{ toJson . }}
{{- else if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{/* Flags of a dict, as the file --config wants them. */}}
{{- define "farrier.flags" -}}
{{- range $flag, $value := . }}
{{- if kindIs "slice" $value }}
{{ $flag }}:{{ if not $value }} []{{ end }}
{{- range $value }}
- {{ include "farrier.scalar" . }}
{{- end }}
{{- else }}
{{ $flag }}: {{ include "farrier.scalar" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The file --config: what the chart sets, then what the user sets. */}}
{{- define "farrier.config" -}}
{{- $values := .Values }}
{{- if not (or $values.boot.http $values.boot.https) }}
{{- fail "boot.http, boot.https: at least one has to be true" }}
{{- end }}
{{- $own := dict "config" "the chart writes that file" "help" "this is for the command line" "version" "this is for the command line"
  "kubeconfig" "the manager uses the account of its pod" "leader-elect" "managers that are replaced run beside each other" "install-crds" "set crds.install"
  "manager-namespace" "it is the namespace of the release" "data-dir" "set data" "health-address" "the probes of the pod need it"
  "boot-address" "set boot.http" "boot-tls-address" "set boot.https" "metrics-address" "set metrics.enabled" "metrics-plain" "set metrics.enabled"
  "watch-filter" "set watchFilter" "webhook-address" "set webhooks.enabled" "webhook-cert-file" "set certs" "webhook-key-file" "set certs"
  "boot-stream-address" "set bootStream.enabled" "boot-stream-certificates-dir" "set bootStream.certs"
  "boot-stream-join-address" "set bootStream.joinSecret" "boot-stream-authority-dir" "set bootStream.joinSecret" }}
{{- range $flag, $why := $own }}
{{- if hasKey $values.config $flag }}
{{- fail (printf "config.%s: the chart sets this flag itself: %s" $flag $why) }}
{{- end }}
{{- end -}}
manager-namespace: {{ toJson .Release.Namespace }}
data-dir: /var/lib/farrier
health-address: ":8081"
boot-address: {{ if $values.boot.http }}":8082"{{ else }}""{{ end }}
{{- if $values.boot.https }}
boot-tls-address: ":8083"
{{- end }}
{{- if $values.metrics.enabled }}
metrics-address: ":8443"
{{- end }}
{{- with $values.watchFilter }}
watch-filter: {{ toJson . }}
{{- end }}
{{- if $values.webhooks.enabled }}
webhook-address: ":9443"
{{- if ne (include "farrier.certs" .) "self" }}
webhook-cert-file: /etc/farrier/webhook/tls.crt
webhook-key-file: /etc/farrier/webhook/tls.key
{{- end }}
{{- end }}
{{- include "farrier.bootStream.flags" . }}
{{- include "farrier.flags" (omit $values.config "boot-servers") }}
{{- end }}
