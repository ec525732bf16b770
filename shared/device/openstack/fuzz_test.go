package openstack_test

import (
	"encoding/json"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

// FuzzState reads a server from an answer of any bytes.
func FuzzState(f *testing.F) {
	for _, body := range []string{
		`{"server":{"id":"` + uuid + `","status":"ACTIVE","OS-EXT-STS:task_state":null,"OS-EXT-STS:power_state":1,"host_status":"UP"}}`,
		`{"server":{"id":"` + uuid + `","status":"SHUTOFF","OS-EXT-STS:task_state":null,"OS-EXT-STS:power_state":4,"host_status":"UP"}}`,
		`{"server":{"id":"` + uuid + `","status":"SHUTOFF","OS-EXT-STS:power_state":4,"host_status":"UNKNOWN"}}`,
		`{"server":{"status":"SHUTOFF","OS-EXT-STS:power_state":4}}`, `{"server":null}`, `{"server":{`, `[]`, ``,
	} {
		f.Add([]byte(body))
	}
	s := serve(f)
	d := dial(f, s.URL, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.Answer(read, resttest.Always(200, string(body)))
		var told struct {
			Server struct {
				ID, Status string
				Power      *int `json:"OS-EXT-STS:power_state"`
			}
		}
		err := json.Unmarshal(body, &told)
		devicetest.ReadGarbled(t, d, body, err == nil && told.Server.Status == "SHUTOFF" && told.Server.Power != nil && *told.Server.Power == 4)
	})
}
