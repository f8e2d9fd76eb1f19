{{/* The Secret of the certificate for metrics of boot servers, and that of who reads them. */}}
{{- define "farrier.bootServers.metricsSecret" -}}
{{- if eq (include "farrier.bootStream.certs" .) "secret" }}
{{- if not .Values.bootServers.metrics.secret }}
{{- fail "bootServers.metrics.secret: bootStream.certs.mode is secret, so name the Secret with tls.crt, tls.key and ca.crt for metrics of boot servers" }}
{{- end }}
{{- .Values.bootServers.metrics.secret }}
{{- else }}farrier-bootserver-metrics-certificate
{{- end }}
{{- end }}
{{- define "farrier.metricsClientSecret" -}}
{{- if eq (include "farrier.bootStream.certs" .) "secret" }}
{{- if not .Values.bootServers.metrics.clientSecret }}
{{- fail "bootServers.metrics.clientSecret: bootStream.certs.mode is secret, so name the Secret with tls.crt and tls.key that Prometheus shows to boot servers" }}
{{- end }}
{{- .Values.bootServers.metrics.clientSecret }}
{{- else }}farrier-metrics-client-certificate
{{- end }}
{{- end }}

{{/* The name in the certificate for metrics of boot servers. */}}
{{- define "farrier.bootServers.metricsName" -}}farrier-bootserver-metrics.{{ .Release.Namespace }}.svc{{- end }}

{{/* Refuses objects of the Prometheus operator where there is none. Takes a dict of root and value. */}}
{{- define "farrier.prometheusOperator" -}}
{{- if not (.root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") }}
{{- fail (printf "%s: this cluster has no Prometheus operator (monitoring.coreos.com/v1): install it first, or set it to false. `helm template` asks no cluster: add --api-versions monitoring.coreos.com/v1" .value) }}
{{- end }}
{{- end }}
