{{- define "hansa.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "hansa.selector" -}}
app.kubernetes.io/name: hansa
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hansa.labels" -}}
{{ include "hansa.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "hansa.require" -}}
{{- range $name := list "PUBLIC_BASE_URL" "REGISTRY_NAME" "TRUST_DOMAIN" -}}
{{- if not (index $.Values.settings $name) -}}
{{- fail (printf "settings.%s is required" $name) -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.settingsSecret .Values.cloudnativepg.enabled) -}}
{{- fail "settingsSecret is required: a Secret with DATABASE_URL; or set cloudnativepg.enabled" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.keysSecret) -}}
{{- fail "replicas above 1 need keysSecret: all processes of a registry have the same keys" -}}
{{- end -}}
{{- end -}}
