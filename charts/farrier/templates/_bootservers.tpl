{{/* What selects the pods of boot servers. */}}
{{- define "farrier.bootServers.selector" -}}
app.kubernetes.io/name: farrier-bootserver
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* "true" where boot servers answer DHCP, or nothing. */}}
{{- define "farrier.bootServers.dhcp" -}}
{{- if ne (toString (index .Values.bootServers.config "dhcp" | default "off")) "off" }}true{{ end }}
{{- end }}

{{/* The boot URLs of the site of the boot servers, as the manager has them, as a list in YAML. */}}
{{- define "farrier.bootServers.urls" -}}
{{- $site := .Values.bootServers.site }}
{{- $urls := list }}
{{- $given := index .Values.config "boot-url" | default list }}
{{- if kindIs "string" $given }}{{ $given = list $given }}{{ end }}
{{- range $given }}
{{- if $site }}
{{- if hasPrefix (printf "%s=" $site) . }}{{ $urls = append $urls (trimPrefix (printf "%s=" $site) .) }}{{ end }}
{{- else if hasPrefix "http" . }}{{ $urls = append $urls . }}
{{- end }}
{{- end }}
{{- toYaml $urls }}
{{- end }}

{{/* What cannot work is refused. */}}
{{- define "farrier.bootServers.check" -}}
{{- $b := .Values.bootServers }}
{{- $own := dict "config" "the chart writes that file" "help" "this is for the command line" "version" "this is for the command line"
  "managers" "the Service farrier-boot-stream leads to them" "manager-name" "the chart knows it" "certificates-dir" "set bootStream.certs"
  "join-address" "the certificates are mounted" "join-token-file" "the certificates are mounted" "join-ca-file" "the certificates are mounted"
  "view-key-file" "set bootServers.viewKeySecret" "data-dir" "set bootServers.data" "health-address" "set bootServers.ports.health"
  "boot-address" "set bootServers.ports.http" "boot-tls-address" "set bootServers.tlsSecret" "boot-tls-cert-file" "set bootServers.tlsSecret"
  "boot-tls-key-file" "set bootServers.tlsSecret" "metrics-address" "set bootServers.metrics.enabled" "metrics-plain" "set bootServers.metrics.enabled"
  "metrics-cert-file" "set bootServers.metrics" "metrics-key-file" "set bootServers.metrics" "metrics-client-ca-file" "set bootServers.metrics" }}
{{- range $flag, $why := $own }}
{{- if hasKey $b.config $flag }}
{{- fail (printf "bootServers.config.%s: the chart sets this flag itself: %s" $flag $why) }}
{{- end }}
{{- end }}
{{- if and $b.site (not (include "farrier.bootServers.urls" . | fromYamlArray)) }}
{{- fail (printf "bootServers.site: config.boot-url has no URL that leads machines of the site there: add %s=http://ADDRESS:PORT" $b.site) }}
{{- end }}
{{- if include "farrier.bootServers.dhcp" . }}
{{- if not $b.hostNetwork }}
{{- fail "bootServers.config.dhcp: needs bootServers.hostNetwork=true, because machines ask on the network of the node, which a pod does not hear" }}
{{- end }}
{{- if and (eq (toString (index $b.config "dhcp")) "server") (eq $b.kind "Deployment") (gt (int $b.replicas) 1) }}
{{- fail "bootServers.config.dhcp: server leases the addresses of its ranges alone, so it needs bootServers.replicas=1" }}
{{- end }}
{{- end }}
{{- if eq $b.data.kind "existing" }}
{{- if not $b.data.claimName }}
{{- fail "bootServers.data.claimName: bootServers.data.kind is existing, so name the PersistentVolumeClaim" }}
{{- end }}
{{- if or (ne $b.kind "Deployment") (gt (int $b.replicas) 1) }}
{{- fail "bootServers.data.kind: existing is one PersistentVolumeClaim, of which one boot server keeps its files, so it needs bootServers.kind=Deployment and bootServers.replicas=1" }}
{{- end }}
{{- end }}
{{- end }}

{{/* The file --config of boot servers: what the chart sets, what has to be as at the manager, then what the user sets. */}}
{{- define "farrier.bootServers.config" -}}
{{- $b := .Values.bootServers }}
{{- $shared := pick .Values.config "allowed-registries" "registry-mirrors" "plain-http-registries" "allowed-registry-networks" "require-signed-images" "image-signature-keys" "image-server-url"
  "no-assignment" "ignition-access" "boot-identity" "boot-secrets-deadline" "boot-secrets-need-tls" "allow-unauthenticated-probe" "trusted-forwarders" "metadata" }}
{{- with include "farrier.bootServers.urls" . | fromYamlArray }}
{{- $shared = set $shared "boot-url" . }}
{{- end -}}
managers:
- {{ printf "%s:8444" (include "farrier.bootStream.name" .) | quote }}
manager-name: {{ include "farrier.bootStream.name" . }}
certificates-dir: /etc/farrier/boot-stream
data-dir: /var/lib/farrier
health-address: {{ printf ":%d" (int $b.ports.health) | quote }}
boot-address: {{ printf ":%d" (int $b.ports.http) | quote }}
{{- if $b.tlsSecret }}
boot-tls-address: {{ printf ":%d" (int $b.ports.https) | quote }}
boot-tls-cert-file: /etc/farrier/boot-tls/tls.crt
boot-tls-key-file: /etc/farrier/boot-tls/tls.key
{{- end }}
{{- if $b.viewKeySecret }}
view-key-file: /etc/farrier/view-key/view.key
{{- end }}
{{- if $b.metrics.enabled }}
metrics-address: {{ printf ":%d" (int $b.ports.metrics) | quote }}
metrics-cert-file: /etc/farrier/metrics/tls.crt
metrics-key-file: /etc/farrier/metrics/tls.key
metrics-client-ca-file: /etc/farrier/metrics/ca.crt
{{- end }}
{{- include "farrier.flags" (merge (deepCopy $b.config) $shared) }}
{{- end }}

{{/* The template of the pods of boot servers. */}}
{{- define "farrier.bootServers.pod" -}}
{{- $b := .Values.bootServers -}}
metadata:
  labels:
    {{- include "farrier.bootServers.selector" . | nindent 4 }}
  annotations:
    # The boot server reads its file at the start only, so a change of it starts new pods.
    farrier.dev/config-checksum: {{ include "farrier.bootServers.config" . | sha256sum }}
    {{- with $b.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: farrier-bootserver
  # It needs no Kubernetes API.
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if $b.hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $b.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- if include "farrier.bootServers.dhcp" . }}
    # Kubernetes gives capabilities to root alone, and the ports of DHCP and TFTP need them.
    runAsUser: 0
    runAsGroup: 0
    {{- else }}
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    {{- end }}
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  {{- if eq $b.kind "Deployment" }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "farrier.bootServers.selector" . | nindent 16 }}
  {{- end }}
  {{- with $b.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $b.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: bootserver
      image: {{ include "farrier.image" (dict "root" . "image" $b.image) }}
      imagePullPolicy: {{ $b.image.pullPolicy }}
      args:
        - --config=/etc/farrier/config/farrier-bootserver.yaml
      ports:
        - name: health
          containerPort: {{ $b.ports.health }}
        - name: boot
          containerPort: {{ $b.ports.http }}
        {{- if $b.tlsSecret }}
        - name: boot-tls
          containerPort: {{ $b.ports.https }}
        {{- end }}
        {{- if $b.metrics.enabled }}
        - name: metrics
          containerPort: {{ $b.ports.metrics }}
        {{- end }}
      livenessProbe:
        httpGet:
          path: /healthz
          port: health
      readinessProbe:
        httpGet:
          path: /readyz
          port: health
        periodSeconds: 5
      {{- with $b.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop:
            - ALL
          {{- if include "farrier.bootServers.dhcp" . }}
          add:
            - NET_BIND_SERVICE
            - NET_RAW
          {{- end }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/farrier
        {{- range include "farrier.bootServers.volumes" . | fromYamlArray }}
        - name: {{ .name }}
          mountPath: {{ .at }}
          readOnly: true
        {{- end }}
  volumes:
    - name: data
      {{- if eq $b.data.kind "existing" }}
      persistentVolumeClaim:
        claimName: {{ $b.data.claimName }}
      {{- else }}
      {{- include "farrier.dataVolume" $b.data | nindent 6 }}
      {{- end }}
    {{- range include "farrier.bootServers.volumes" . | fromYamlArray }}
    - name: {{ .name }}
      {{- if hasKey . "secret" }}
      secret:
        secretName: {{ .secret }}
        defaultMode: 0440
      {{- else }}
      configMap:
        name: {{ .configMap }}
      {{- end }}
    {{- end }}
{{- end }}

{{/* What is mounted beside the data: a list of name, where at, and secret or configMap, in YAML. */}}
{{- define "farrier.bootServers.volumes" -}}
{{- $b := .Values.bootServers -}}
- {name: config, at: /etc/farrier/config, configMap: farrier-bootserver}
- {name: boot-stream, at: /etc/farrier/boot-stream, secret: {{ include "farrier.bootStream.bootServersSecret" . | quote }}}
{{- with $b.tlsSecret }}
- {name: boot-tls, at: /etc/farrier/boot-tls, secret: {{ . | quote }}}
{{- end }}
{{- with $b.viewKeySecret }}
- {name: view-key, at: /etc/farrier/view-key, secret: {{ . | quote }}}
{{- end }}
{{- if $b.metrics.enabled }}
- {name: metrics, at: /etc/farrier/metrics, secret: {{ include "farrier.bootServers.metricsSecret" . | quote }}}
{{- end }}
{{- range $b.mounts }}
- {name: mount-{{ .name }}, at: /etc/farrier/mounts/{{ .name }}, {{ if hasKey . "secret" }}secret: {{ .secret | quote }}{{ else }}configMap: {{ .configMap | quote }}{{ end }}}
{{- end }}
{{- end }}
