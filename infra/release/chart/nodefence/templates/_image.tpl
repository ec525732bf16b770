{{- /* The image of a program: as released, but for what the values say. */}}
{{- define "nodefence.image" -}}
{{- $program := regexReplaceAll "^(?:.*/)?([^/:]+):[^/:]*$" .image "${1}" }}
{{- $own := index .values.images $program }}
{{- if not $own }}{{ fail (printf "the chart has no image %s" .image) }}{{ end }}
{{- $repository := $own.repository | default (regexReplaceAll ":[^/:]*$" .image "") }}
{{- if $own.digest }}
{{- printf "%s@%s" $repository $own.digest }}
{{- else }}
{{- printf "%s:%s" $repository ($own.tag | default (regexFind "[^/:]*$" .image)) }}
{{- end }}
{{- end }}
