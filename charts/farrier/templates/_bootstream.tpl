{{/* Whether managers serve the boot stream: "true" or nothing. */}}
{{- define "farrier.bootStream" -}}
{{- if or .Values.bootStream.enabled .Values.bootServers.enabled }}true{{ end }}
{{- end }}

{{/* DNS names of both ends of the boot stream. */}}
{{- define "farrier.bootStream.name" -}}farrier-boot-stream.{{ .Release.Namespace }}.svc{{- end }}
{{- define "farrier.bootServers.name" -}}farrier-bootserver.{{ .Release.Namespace }}.svc{{- end }}

{{/* Where certificates of the boot stream come from: cert-manager or secret. */}}
{{- define "farrier.bootStream.certs" -}}
{{- $certs := .Values.bootStream.certs }}
{{- if eq $certs.mode "secret" }}
{{- if not $certs.managerSecret }}
{{- fail "bootStream.certs.managerSecret: bootStream.certs.mode is secret, so name the Secret with tls.crt, tls.key and ca.crt of the managers (docs/install.md)" }}
{{- end }}
{{- if and .Values.bootServers.enabled (not $certs.bootServersSecret) }}
{{- fail "bootStream.certs.bootServersSecret: bootStream.certs.mode is secret, so name the Secret with tls.crt, tls.key and ca.crt of the boot servers (docs/install.md)" }}
{{- end }}
{{- else if and (eq $certs.mode "auto") (not (.Capabilities.APIVersions.Has "cert-manager.io/v1")) }}
{{- fail "bootStream.certs.mode is auto, and this cluster has no cert-manager to issue the certificates of managers and boot servers: install cert-manager; or make them with 'farrier cert' and set bootStream.certs.mode=secret with bootStream.certs.managerSecret and bootStream.certs.bootServersSecret (docs/install.md)" }}
{{- end }}
{{- if eq $certs.mode "secret" }}secret{{ else }}cert-manager{{ end }}
{{- end }}

{{/* The Secrets of these certificates. */}}
{{- define "farrier.bootStream.managerSecret" -}}
{{- if eq (include "farrier.bootStream.certs" .) "secret" }}{{ .Values.bootStream.certs.managerSecret }}{{ else }}farrier-boot-stream-certificate{{ end }}
{{- end }}
{{- define "farrier.bootStream.bootServersSecret" -}}
{{- if eq (include "farrier.bootStream.certs" .) "secret" }}{{ .Values.bootStream.certs.bootServersSecret }}{{ else }}farrier-bootserver-certificate{{ end }}
{{- end }}

{{/* Flags of the manager for the boot stream, each behind a line break. */}}
{{- define "farrier.bootStream.flags" -}}
{{- $servers := index .Values.config "boot-servers" | default list }}
{{- if kindIs "string" $servers }}{{ $servers = splitList "," $servers }}{{ end }}
{{- if include "farrier.bootStream" . }}
boot-stream-address: ":8444"
boot-stream-certificates-dir: /etc/farrier/boot-stream
{{- if .Values.bootStream.joinSecret }}
boot-stream-join-address: ":8445"
boot-stream-authority-dir: /etc/farrier/boot-stream-authority
{{- end }}
{{- with .Values.bootServers }}
{{- if .enabled }}
{{- $servers = prepend $servers (printf "%s%s" (include "farrier.bootServers.name" $) (ternary (printf "=%s" .site) "" (ne .site ""))) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $servers }}
{{- include "farrier.flags" (dict "boot-servers" $servers) }}
{{- end }}
{{- end }}
