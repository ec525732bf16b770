{{- /* What the pods of one part find in their environment besides what its manifest says: by the
components that are on, by the namespaces and the length of a call if they are not the usual ones, and by the values. If
FenceAgentsRemediations are answered, the FenceRequests made of them count, whichever others do. */}}
{{- define "nodefence.settings" -}}
{{- $own := dict }}
{{- $is := .root.Values.namespaces }}
{{- if ne $is.system "nodefence-system" }}{{ $_ := set $own "NODEFENCE_NAMESPACE" $is.system }}{{ $_ := set $own "NODEFENCE_REQUEST_NAMESPACES" $is.system }}{{ end }}
{{- if ne $is.devices "nodefence-devices" }}{{ $_ := set $own "NODEFENCE_SECRETS_NAMESPACE" $is.devices }}{{ end }}
{{- if ne $is.checks "nodefence-checks" }}{{ $_ := set $own "NODEFENCE_CHECKS_NAMESPACE" $is.checks }}{{ end }}
{{- $call := int .root.Values.deviceCallSeconds }}
{{- if ne $call 20 }}
{{- $_ := set $own "NODEFENCE_DEVICE_CALL_TIMEOUT" (printf "%ds" $call) }}
{{- $_ := set $own "NODEFENCE_INVOCATION_TIMEOUT" (printf "%ss" (include "nodefence.invocationSeconds" .root.Values)) }}
{{- end }}
{{- range $name, $component := .root.Values.components }}
{{- if $component.enabled }}
{{- $by := fromYaml (include "nodefence.text" (dict "root" $.root "path" (printf "files/components/%s.settings.yaml" $name))) }}
{{- $own = mergeOverwrite $own (index $by $.part | default dict) }}
{{- end }}
{{- end }}
{{- $own = mergeOverwrite $own (deepCopy .root.Values.settings.all) }}
{{- $own = mergeOverwrite $own (deepCopy (index .root.Values.settings .part)) }}
{{- $far := .root.Values.components.far }}
{{- if and $far.enabled (hasKey $own "NODEFENCE_REQUEST_NAMESPACES") }}
{{- $_ := set $own "NODEFENCE_REQUEST_NAMESPACES" (append (regexSplit "[ ,]+" $own.NODEFENCE_REQUEST_NAMESPACES -1 | compact) $far.namespace | uniq | join ",") }}
{{- end }}
{{- toYaml $own }}
{{- end }}
{{- /* How long an invocation may take: a call, and 40 s to read and save (functions/power/SLOW.md); never less than the usual 60 s. */}}
{{- define "nodefence.invocationSeconds" -}}
{{- max 60 (add (int .deviceCallSeconds) 40) }}
{{- end }}
