{{/* Who may read metrics: pods of the namespaces that have the labels. */}}
{{- define "farrier.scrapers" -}}
- namespaceSelector:
    {{- with .Values.networkPolicy.scrapers }}
    matchLabels:
      {{- toYaml . | nindent 6 }}
    {{- else }} {}
    {{- end }}
{{- end }}

{{/* Networks. */}}
{{- define "farrier.blocks" -}}
{{- range . }}
- ipBlock:
    cidr: {{ . | quote }}
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
    {{- include "farrier.blocks" . | trim | nindent 4 }}
{{- end }}
