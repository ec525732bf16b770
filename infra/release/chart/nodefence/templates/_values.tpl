{{- /* What the schema can't say of the values. A namespace is a border: power and isolate may read the
devices' Secrets, power those beside FenceAgentsRemediations, and gate may create Jobs beside every
account and Secret of the checks' namespace. So none of them may be another, nor somebody else's. */}}
{{- define "nodefence.values" -}}
{{- $named := list (list "namespaces.system" .Values.namespaces.system) (list "namespaces.devices" .Values.namespaces.devices) (list "namespaces.checks" .Values.namespaces.checks) }}
{{- if .Values.components.far.enabled }}{{ $named = append $named (list "components.far.namespace" .Values.components.far.namespace) }}{{ end }}
{{- $by := dict }}
{{- range $named }}
{{- $value := index . 0 }}
{{- $name := index . 1 }}
{{- with get $by $name }}
{{- fail (printf "%s and %s are both %q: give each a namespace of its own, or who may read the Secrets of one, or create Jobs in it, may do so in the other" . $value $name) }}
{{- end }}
{{- $_ := set $by $name $value }}
{{- if has $name (list "nodefence-jobs" "nodefence-kdump") }}
{{- fail (printf "%s is %q, which is the namespace of component %s: give it another one" $value $name (trimPrefix "nodefence-" $name)) }}
{{- end }}
{{- /* FenceAgentsRemediations may be in default already. */}}
{{- if or (hasPrefix "kube-" $name) (and (eq $name "default") (hasPrefix "namespaces." $value)) }}
{{- fail (printf "%s is %q, which has Secrets and accounts of others: give it a namespace of its own" $value $name) }}
{{- end }}
{{- end }}
{{- $instead := dict "NODEFENCE_NAMESPACE" "set namespaces.system" "NODEFENCE_SECRETS_NAMESPACE" "set namespaces.devices" "NODEFENCE_CHECKS_NAMESPACE" "set namespaces.checks" "NODEFENCE_JOBS_NAMESPACE" "the chart has nodefence-jobs and no other" }}
{{- range $part, $own := .Values.settings }}
{{- range $name, $words := $instead }}
{{- if hasKey $own $name }}{{ fail (printf "settings.%s.%s would leave the rights and objects in another namespace: %s" $part $name $words) }}{{ end }}
{{- end }}
{{- range $name := list "NODEFENCE_DEVICE_CALL_TIMEOUT" "NODEFENCE_INVOCATION_TIMEOUT" }}
{{- if hasKey $own $name }}{{ fail (printf "settings.%s.%s would leave the platform's own limits as they are: set deviceCallSeconds, which sets both variables and the limits" $part $name) }}{{ end }}
{{- end }}
{{- end }}
{{- if and .Values.components.machinehealthcheck.enabled (not .Values.components.machines.enabled) }}
{{- fail "components.machinehealthcheck takes components.machines too: by those rights power deletes the Machines" }}
{{- end }}
{{- include "nodefence.standaloneValues" . }}
{{- end }}
{{- /* What is a value of one platform alone. */}}
{{- define "nodefence.standaloneValues" -}}
{{- $standalone := eq .Values.platform "standalone" }}
{{- range $name := list "authentication" "far" "kdump" }}
{{- if and $standalone (index $.Values.components $name).enabled }}
{{- fail (printf "components.%s is for platforms with Knative: set platform to deployments, kafka or serving" $name) }}
{{- end }}
{{- end }}
{{- range $part, $own := .Values.settings }}
{{- if and $own (ne $part "all") (ne $standalone (eq $part "local")) }}
{{- fail (printf "settings.%s reaches no pod on platform %s: %s" $part $.Values.platform (ternary "set settings.local, which is the one process" "name the function" $standalone)) }}
{{- end }}
{{- end }}
{{- if and .Values.podMonitor .Values.serviceMonitor }}{{ fail "podMonitor and serviceMonitor would read each pod twice: set one of them" }}{{ end }}
{{- if not $standalone }}
{{- range $name := list "resources" "affinity" "priorityClassName" "podAnnotations" "podLabels" "extraEnv" "serviceMonitor" }}
{{- if index $.Values $name }}{{ fail (printf "%s is for platform standalone: on platform %s each function has pods of its own" $name $.Values.platform) }}{{ end }}
{{- end }}
{{- if ne (int .Values.replicas) 2 }}{{ fail (printf "replicas is for platform standalone: on platform %s each function has two" .Values.platform) }}{{ end }}
{{- end }}
{{- end }}
