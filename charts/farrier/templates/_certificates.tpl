{{/* An authority of cert-manager, and the Issuer that signs by it. Takes a dict of root, name, and commonName. */}}
{{- define "farrier.authority" }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}-authority
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "farrier.labels" .root | nindent 4 }}
spec:
  secretName: {{ .name }}-authority
  isCA: true
  commonName: {{ .commonName }}
  usages:
    - cert sign
  privateKey:
    algorithm: ECDSA
    size: 256
    # A new key is a new authority, which nobody trusts yet.
    rotationPolicy: Never
  duration: 87600h
  issuerRef:
    name: farrier-self-signed
    kind: Issuer
    group: cert-manager.io
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "farrier.labels" .root | nindent 4 }}
spec:
  ca:
    secretName: {{ .name }}-authority
{{- end }}

{{/* A certificate of such an Issuer. Takes a dict of root, name, issuer, secret, dnsNames, and usage: server auth or client auth. */}}
{{- define "farrier.certificate" }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "farrier.labels" .root | nindent 4 }}
spec:
  secretName: {{ .secret }}
  dnsNames:
    {{- toYaml .dnsNames | nindent 4 }}
  usages:
    - digital signature
    - {{ .usage }}
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Always
  duration: 720h
  issuerRef:
    name: {{ .issuer }}
    kind: Issuer
    group: cert-manager.io
{{- end }}
