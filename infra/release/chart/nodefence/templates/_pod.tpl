{{- /* Changes the pods of one part by the values: image, environment, user, how long they may work, and
where they may run. */}}
{{- define "nodefence.pod" -}}
{{- $values := .root.Values }}
{{- $settings := fromYaml (include "nodefence.settings" (dict "root" .root "part" .part)) }}
{{- range $container := .pod.containers }}
{{- $released := $container.image }}
{{- $image := include "nodefence.image" (dict "values" $values "image" $released) }}
{{- $_ := set $container "image" $image }}
{{- $env := list }}
{{- $said := dict }}
{{- range $e := $container.env }}
{{- $_ := set $said $e.name true }}
{{- if hasKey $settings $e.name }}
{{- $env = append $env (dict "name" $e.name "value" (index $settings $e.name)) }}
{{- else if eq (toString $e.value) $released }}
{{- $env = append $env (dict "name" $e.name "value" $image) }}
{{- else }}
{{- $env = append $env $e }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if not (hasKey $said $name) }}{{ $env = append $env (dict "name" $name "value" $value) }}{{ end }}
{{- end }}
{{- if $env }}{{ $_ := set $container "env" $env }}{{ end }}
{{- if $values.openshift }}{{ $_ := unset ($container.securityContext | default dict) "runAsUser" }}{{ end }}
{{- end }}
{{- /* OpenShift's SCC restricted-v2 chooses the user itself, and refuses another one. */}}
{{- if $values.openshift }}{{ $_ := unset (.pod.securityContext | default dict) "runAsUser" }}{{ end }}
{{- /* Knative Serving gives an invocation timeoutSeconds, and a pod that ends the same. Elsewhere a pod
that ends has Kubernetes' 30 s, unless calls take longer. */}}
{{- $call := int $values.deviceCallSeconds }}
{{- if hasKey .pod "timeoutSeconds" }}
{{- $_ := set .pod "timeoutSeconds" (include "nodefence.invocationSeconds" $values | int) }}
{{- else if gt $call 20 }}
{{- $_ := set .pod "terminationGracePeriodSeconds" (add $call 15) }}
{{- end }}
{{- with $values.imagePullSecrets }}{{ $_ := set $.pod "imagePullSecrets" . }}{{ end }}
{{- with $values.nodeSelector }}{{ $_ := set $.pod "nodeSelector" . }}{{ end }}
{{- with $values.tolerations }}{{ $_ := set $.pod "tolerations" (concat ($.pod.tolerations | default list) .) }}{{ end }}
{{- end }}
