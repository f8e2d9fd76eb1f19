{{/* Who may read metrics: pods of the namespaces that have the labels. */}}
{{- define "farrier.scrapers" -}}
- namespaceSelector:
    {{- with .Values.networkPolicy.scrapers }}
    matchLabels:
      {{- toYaml . | nindent 6 }}
    {{- else }} {}
    {{- end }}
{{- end }}

{{/* From networks; nothing, which means everybody, where there are none. */}}
{{- define "farrier.from" -}}
{{- with . -}}
from:
  {{- range . }}
  - ipBlock:
      cidr: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{/* To networks, and to DNS wherever it is. */}}
{{- define "farrier.egress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
{{- end }}
