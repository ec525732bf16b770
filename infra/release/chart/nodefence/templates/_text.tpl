{{- /* A file of manifests, with the namespaces of the values in place of the usual ones. */}}
{{- define "nodefence.text" -}}
{{- $is := .root.Values.namespaces }}
{{- $text := .root.Files.Get .path }}
{{- if not $text }}{{ fail (printf "the chart has no %s: make it by make release" .path) }}{{ end }}
{{- $text = $text | replace "nodefence-system" "<1>" | replace "nodefence-devices" "<2>" | replace "nodefence-checks" "<3>" | replace "openshift-workload-availability" "<4>" }}
{{- $text | replace "<1>" $is.system | replace "<2>" $is.devices | replace "<3>" $is.checks | replace "<4>" .root.Values.components.far.namespace }}
{{- end }}
