{{/*
The server's own objects (Secret, Lease, the two webhook configurations) have fixed names, so two installations in a
cluster would fight. Every object of the chart has a fixed name too: then helm itself refuses a second one.
*/}}
{{- define "vmcp-admission.selector" -}}
app.kubernetes.io/name: vmcp-admission
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vmcp-admission.labels" -}}
{{ include "vmcp-admission.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: admission-webhook
app.kubernetes.io/part-of: vmcp
{{- end }}

{{- define "vmcp-admission.image" -}}
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

{{- define "vmcp-admission.subjects" -}}
- kind: ServiceAccount
  name: vmcp-admission
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* What values.schema.json cannot say. */}}
{{- define "vmcp-admission.check" -}}
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
{{- if and .Values.clientAuthentication.names (not .Values.clientAuthentication.configMapName) -}}
{{- fail "clientAuthentication.names: need the CA in clientAuthentication.configMapName" -}}
{{- end -}}
{{- end }}
