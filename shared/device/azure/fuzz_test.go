package azure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

// FuzzState reads a virtual machine from an answer of any bytes.
func FuzzState(f *testing.F) {
	for _, code := range []string{"PowerState/running", "PowerState/stopped", "PowerState/deallocated", "PowerState/", "ProvisioningState/succeeded"} {
		f.Add([]byte(`{"name":"worker-7","properties":{"vmId":"` + vmID + `","instanceView":{"statuses":[{"code":"ProvisioningState/succeeded"},{"code":"` + code + `"}]}}}`))
	}
	f.Add([]byte(`{"properties":{"instanceView":{"statuses":[{"code":"PowerState/stopped"},{"code":"PowerState/running"}]}}}`))
	f.Add([]byte(`{"properties":`))
	s := serve(f)
	d := dial(f, s.URL, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.Answer(read, resttest.Always(200, string(body)))
		off := json.Valid(body) && !strings.Contains(string(body), "PowerState/running") &&
			(strings.Contains(unescaped(body), "PowerState/stopped") || strings.Contains(unescaped(body), "PowerState/deallocated"))
		devicetest.ReadGarbled(t, d, body, off)
	})
}

// unescaped is the JSON text written anew, so that a word is found whose letters were escaped.
func unescaped(body []byte) string {
	var any any
	if json.Unmarshal(body, &any) != nil {
		return ""
	}
	text, _ := json.Marshal(any) // what was just read can be written
	return string(text)
}
