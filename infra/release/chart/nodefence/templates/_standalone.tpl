{{- /* Changes the Deployment of platform standalone by the values that other platforms do not have. */}}
{{- define "nodefence.standalone" -}}
{{- $values := .root.Values }}
{{- $template := .object.spec.template }}
{{- $container := first $template.spec.containers }}
{{- $_ := set .object.spec "replicas" (int $values.replicas) }}
{{- with $values.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- with $values.affinity }}{{ $_ := set $template.spec "affinity" . }}{{ end }}
{{- with $values.priorityClassName }}{{ $_ := set $template.spec "priorityClassName" . }}{{ end }}
{{- with $values.podAnnotations }}{{ $_ := set $template.metadata "annotations" . }}{{ end }}
{{- with $values.podLabels }}{{ $_ := set $template.metadata "labels" (merge $template.metadata.labels .) }}{{ end }}
{{- with $values.extraEnv }}{{ $_ := set $container "env" (concat $container.env .) }}{{ end }}
{{- end }}
