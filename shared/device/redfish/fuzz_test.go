package redfish_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
)

// FuzzState reads a system from an answer of any bytes.
func FuzzState(f *testing.F) {
	for _, body := range []string{
		`{"@odata.type":"#ComputerSystem.v1_5_0.ComputerSystem","@odata.id":"` + uri + `","Id":"1","UUID":"` + uuid + `","PowerState":"On"}`, `{"@odata.type":"#ComputerSystem.v1_5_0.ComputerSystem","@odata.id":"` + uri + `","Id":"1","UUID":"` + uuid + `","PowerState":"Off"}`,
		`{"@odata.type":"#ComputerSystem.v1_5_0.ComputerSystem","PowerState":"PoweringOff"}`, `{"PowerState":null}`, `{"PowerState":"Off"`, `{"@odata.type":"#ComputerSystem.v1_5_0.ComputerSystem","powerstate":"Off"}`, `[]`, ` `,
	} {
		f.Add([]byte(body))
	}
	s := serve(f)
	d := s.dial(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return // the counterpart would send a message of its own
		}
		s.Refuse(http.MethodGet, uri, redfishtest.Refusal{Status: http.StatusOK, Body: string(body)})
		var told struct{ PowerState string }
		err := json.Unmarshal(body, &told)
		devicetest.ReadGarbled(t, d, body, err == nil && told.PowerState == "Off")
	})
}
