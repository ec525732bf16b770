package gce_test

import (
	"encoding/json"
	"testing"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

// FuzzState reads an instance from an answer of any bytes and any success.
func FuzzState(f *testing.F) {
	for _, body := range []string{
		`{"id":"` + id + `","name":"worker-7","status":"RUNNING"}`, `{"id":"` + id + `","name":"worker-7","status":"TERMINATED"}`,
		`{"id":"` + id + `","status":"STOPPED"}`, `{"id":"` + id + `","status":"SUSPENDED"`, `{"status":"TERMINATED"}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(body))
	}
	s := serve(f)
	d := dial(f, s.URL, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		s.Answer(read, resttest.Always(200, string(body)))
		var told struct{ ID, Status string }
		err := json.Unmarshal(body, &told)
		devicetest.ReadGarbled(t, d, body, err == nil && told.ID != "" && (told.Status == "TERMINATED" || told.Status == "STOPPED"))
	})
}
