{{/*
The server's own objects (Secret, Lease, the two webhook configurations) have fixed names, so two installations in a
cluster would fight. Every object of the chart has a fixed name too: then helm itself refuses a second one.
*/}}
{{- define "vmcp-admission.selector" -}}
app.kubernetes.io/name: vmcp-admission
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp-admission.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vmcp-admission.labels" -}}
{{ include "vmcp-admission.selector" . }}
{{ include "vmcp-admission.commonLabels" . }}
app.kubernetes.io/component: admission-webhook
app.kubernetes.io/part-of: vmcp
{{- end }}

{{/* The labels of a template by its name, and more of them, which count where both have one: (list $ NAME LABELS). */}}
{{- define "vmcp-admission.moreLabels" -}}
{{- toYaml (merge (deepCopy (index . 2)) (include (index . 1) (index . 0) | fromYaml)) -}}
{{- end }}

{{/* "true" where the leader is a Deployment of its own; empty otherwise. Without arming nobody leads. */}}
{{- define "vmcp-admission.separate" -}}
{{- if and .Values.arming.enabled .Values.leader.separate -}}
true
{{- end -}}
{{- end }}

{{/* No label of a leader's pod is in the selector of the Service. */}}
{{- define "vmcp-admission.leaderSelector" -}}
app.kubernetes.io/name: vmcp-admission-leader
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp-admission.leaderLabels" -}}
{{ include "vmcp-admission.leaderSelector" . }}
{{ include "vmcp-admission.commonLabels" . }}
app.kubernetes.io/component: leader
app.kubernetes.io/part-of: vmcp
{{- end }}

{{- define "vmcp-admission.metricsLabels" -}}
app.kubernetes.io/name: vmcp-admission-metrics
app.kubernetes.io/instance: {{ .Release.Name }}
{{ include "vmcp-admission.commonLabels" . }}
app.kubernetes.io/component: metrics
app.kubernetes.io/part-of: vmcp
{{- end }}

{{/* Without part-of, which the Service of the metrics selects by. */}}
{{- define "vmcp-admission.testLabels" -}}
app.kubernetes.io/name: vmcp-admission-test
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: test
{{ include "vmcp-admission.commonLabels" . }}
{{- end }}

{{/* Helm makes what `helm test` needs in the order of the weights, and removes it in the end. */}}
{{- define "vmcp-admission.testMetadata" -}}
name: vmcp-admission-test
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "vmcp-admission.testLabels" .root | nindent 2 }}
annotations:
  helm.sh/hook: test
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "vmcp-admission.image" -}}
{{- with .Values.image.registry | default .Values.global.imageRegistry }}{{ . }}/{{ end -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The rules of a generated role, for the API group in use. */}}
{{- define "vmcp-admission.rules" -}}
{{- $role := .root.Files.Get (printf "files/rbac/%s.yaml" .role) | replace "API_GROUP" .root.Values.apiGroup | fromYaml -}}
{{- toYaml $role.rules -}}
{{- end }}

{{/* The account of the pods that answer reviews. */}}
{{- define "vmcp-admission.subjects" -}}
- kind: ServiceAccount
  name: vmcp-admission
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The account that writes the webhook configurations and the CA: that of the leader, where it has one of its own. */}}
{{- define "vmcp-admission.writers" -}}
- kind: ServiceAccount
  name: vmcp-admission{{ if include "vmcp-admission.separate" . }}-leader{{ end }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "vmcp-admission.policyTypes" -}}
policyTypes:
  - Ingress
  {{- if .Values.networkPolicy.egress }}
  - Egress
  {{- end }}
{{- with .Values.networkPolicy.egress }}
egress:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Without metricsFrom the kubelet alone reaches the probe port, which no policy keeps out. */}}
{{- define "vmcp-admission.metricsIngress" -}}
{{- with .Values.networkPolicy.metricsFrom -}}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: probe
      protocol: TCP
{{- end -}}
{{- end }}

{{/* What the pods of both Deployments have in common, but for their account and their network. */}}
{{- define "vmcp-admission.pod" -}}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with concat .Values.imagePullSecrets .Values.global.imagePullSecrets | uniq }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all containers have in common. */}}
{{- define "vmcp-admission.run" -}}
image: {{ include "vmcp-admission.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the containers of both Deployments have in common. */}}
{{- define "vmcp-admission.container" -}}
{{ include "vmcp-admission.run" . }}
env:
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
startupProbe:
  httpGet:
    path: /livez
    port: probe
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /livez
    port: probe
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: probe
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* Arguments of both: who they are, and how API servers reach the webhook. */}}
{{- define "vmcp-admission.commonArgs" -}}
- --host={{ .Values.listenAddress }}
- --probe-port={{ .Values.ports.probe }}
- --certificates={{ .Values.certificates.mode }}
- --service=vmcp-admission
- --namespace=$(POD_NAMESPACE)
- --api-group={{ .Values.apiGroup }}
- --log-level={{ .Values.logLevel }}
{{- if .Values.arming.enabled }}
- --arming={{ ternary "on" "ignore" .Values.arming.failClosed }}
{{- else }}
- --arming=off
{{- end }}
{{- end }}

{{/* Arguments of whoever writes the webhook configurations. */}}
{{- define "vmcp-admission.writerArgs" -}}
{{- if .Values.arming.enabled -}}
- --owner-cluster-role=vmcp-admission
{{- with .Values.arming.namespaceSelector }}
- {{ printf "--namespace-selector=%s" . | quote }}
{{- end }}
{{- with .Values.arming.objectSelector }}
- {{ printf "--object-selector=%s" . | quote }}
{{- end }}
{{- if ne (int .Values.arming.timeoutSeconds) 5 }}
- --webhook-timeout={{ .Values.arming.timeoutSeconds }}
{{- end }}
{{- end -}}
{{- end }}

{{/*
Refuses a severity with which the server would not start: an id or a path that does not exist. values.schema.json has
its form. The path is known as far as its fields are, and what follows must be where fields of any name may be.
*/}}
{{- define "vmcp-admission.checkSeverity" -}}
{{- $known := .known -}}
{{- $name := regexReplaceAll "=(error|warning|advice|off)(@.*)?$" .severity "" -}}
{{- $id := regexReplaceAll ":.*" $name "" -}}
{{- if has $id $known.fixed -}}
{{- fail (printf "severities: '%s': %s is always an error" .severity $id) -}}
{{- end -}}
{{- if not (has $id $known.ids) -}}
{{- fail (printf "severities: '%s': %s is not the id of a rule; docs/rules.md lists them" .severity $id) -}}
{{- end -}}
{{- if contains ":" $name -}}
{{- $path := trimPrefix (print $id ":") $name -}}
{{- if regexMatch "\\[[0-9]+\\]" $path -}}
{{- fail (printf "severities: '%s': leave list indexes out, as in spec.list.field" .severity) -}}
{{- end -}}
{{- $steps := regexReplaceAll "\\[[^\\]]*\\]" ($path | replace "[]" "") ".<name>" | splitList "." -}}
{{- $reached := "" -}}
{{- range $i, $_ := $steps -}}
{{- $prefix := join "." (slice $steps 0 (add1 $i)) -}}
{{- if or (has $prefix $known.closed) (has $prefix $known.open) }}{{ $reached = $prefix }}{{ end -}}
{{- end -}}
{{- if not (or (eq $reached (join "." $steps)) (has $reached $known.open)) -}}
{{- fail (printf "severities: '%s': %s is not a field of any kind; docs/fields.md lists them, with <name> for any key of a map" .severity $path) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What values.schema.json cannot say. */}}
{{- define "vmcp-admission.check" -}}
{{- $known := .Files.Get "files/severities.yaml" | fromYaml -}}
{{- range .Values.severities -}}
{{- include "vmcp-admission.checkSeverity" (dict "severity" . "known" $known) -}}
{{- end -}}
{{- $config := .Values.config.file -}}
{{- if kindIs "string" $config }}{{ $config = fromYaml $config }}{{ end -}}
{{- if and $config .Values.config.configMapName -}}
{{- fail "config.configMapName: leave it out beside config.file" -}}
{{- end -}}
{{- range $key, $_ := $config -}}
{{- if not (has $key $known.configuration) -}}
{{- fail (printf "config.file: there is no key '%s'; the keys are %s" $key (join ", " $known.configuration)) -}}
{{- end -}}
{{- end -}}
{{- range $config.severities -}}
{{- include "vmcp-admission.checkSeverity" (dict "severity" . "known" $known) -}}
{{- end -}}
{{- range $config.exemptions -}}
{{- if or (not .id) (not .reason) -}}
{{- fail (printf "config.file: an exemption needs an id and a reason: %s" (toJson .)) -}}
{{- end -}}
{{- if not (has .id $known.ids) -}}
{{- fail (printf "config.file: exemptions: %s is not the id of a rule; docs/rules.md lists them" .id) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.hostNetwork (eq (int .Values.ports.webhook) 10250) -}}
{{- fail "ports.webhook: 10250 is the kubelet's with hostNetwork; name another port, such as 8443" -}}
{{- end -}}
{{- if eq (int .Values.ports.webhook) (int .Values.ports.probe) -}}
{{- fail "ports.probe: must be another port than ports.webhook" -}}
{{- end -}}
{{- if and (not .Values.arming.enabled) (eq .Values.certificates.mode "self-managed") -}}
{{- fail "arming.enabled: false leaves nobody to write the CA of self-managed certificates into the webhook configurations; set certificates.mode to files" -}}
{{- end -}}
{{- if and .Values.certificates.certManager.enabled (ne .Values.certificates.mode "files") -}}
{{- fail "certificates.certManager.enabled: needs certificates.mode files" -}}
{{- end -}}
{{- if and .Values.certificates.certManager.enabled (not .Values.certificates.certManager.issuerRef.name) -}}
{{- fail "certificates.certManager.issuerRef.name: name the issuer" -}}
{{- end -}}
{{- if and (eq (int .Values.rollout.maxSurge) 0) (eq (int .Values.rollout.maxUnavailable) 0) -}}
{{- fail "rollout: maxSurge and maxUnavailable cannot both be 0" -}}
{{- end -}}
{{- if and (eq (toString .Values.checkSecrets) "true") (not .Values.clientAuthentication.configMapName) -}}
{{- fail "checkSecrets: true tells whoever reaches the port which Secrets exist; set clientAuthentication.configMapName, or any-caller" -}}
{{- end -}}
{{- if and .Values.serviceAccountAudience (eq .Values.defaults "off") -}}
{{- fail "serviceAccountAudience: has no effect with defaults off; leave one of them out" -}}
{{- end -}}
{{- if and .Values.clientAuthentication.names (not .Values.clientAuthentication.configMapName) -}}
{{- fail "clientAuthentication.names: need the CA in clientAuthentication.configMapName" -}}
{{- end -}}
{{- end }}
