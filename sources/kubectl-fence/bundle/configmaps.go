package bundle

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// harmless are the keys of nodefence's configuration whose values say where a device is and how it is
// spoken with, and not by what account. Those of any other key are taken out.
var harmless = map[string]bool{
	"node_name": true, "node": true, "isolation": true, "power_management": true, "power_management_2": true, "power_management_3": true, "power_management_4": true, "recovery": true,
	"agent_name": true, "action": true, "ip": true, "ipport": true, "ipaddr": true, "port": true, "plug": true, "lanplus": true, "ssl": true, "ssl_insecure": true,
	"secret": true, "settle": true, "power_wait": true, "power_timeout": true, "login_timeout": true, "systems_uri": true, "region": true, "zone": true, "kdump": true,
	"provider_id": true, "system_uuid": true, "identity": true, "machine_id": true,
}

// shown is a ConfigMap with its harmless values.
func shown(cm corev1.ConfigMap) map[string]any {
	data := map[string]string{}
	for key, text := range cm.Data {
		data[key] = lines(text)
	}
	return map[string]any{
		"metadata": map[string]any{"namespace": cm.Namespace, "name": cm.Name, "uid": cm.UID, "resourceVersion": cm.ResourceVersion, "creationTimestamp": cm.CreationTimestamp},
		"data":     data,
	}
}

// lines are the lines of one key of a ConfigMap, each key=value. A line that is none is taken out whole.
func lines(text string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		key, _, is := strings.Cut(l, "=")
		switch {
		case strings.TrimSpace(l) == "":
			out = append(out, "")
		case !is:
			out = append(out, Redacted)
		case !harmless[strings.ToLower(strings.TrimSpace(key))]:
			out = append(out, key+"="+Redacted)
		default:
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n") + "\n"
}
