package lambda

import (
	"testing"
)

// FuzzRead finds the event in an invocation's payload.
func FuzzRead(f *testing.F) {
	const bare = `{"specversion":"1.0","id":"1","source":"/nodefence/c","type":"io.nodefence.fence.fencing.v1","subject":"n"}`
	for _, payload := range []string{
		bare,
		`{"id":"1","source":"/nodefence/c","detail-type":"io.nodefence.fence.fencing.v1","time":"2026-05-01T12:00:00Z","detail":` + bare + `}`,
		`{"id":"1","source":"aws.events","detail-type":"Scheduled Event","time":"2026-05-01T12:00:00Z","resources":["arn:aws:events:eu:1:rule/r"],"detail":{}}`,
		`{"id":"1","source":"lambda","detail-type":"Lambda Function Invocation Result - Failure","detail":{"requestPayload":` + bare + `}}`,
		`{"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{}}`, `{"detail":null}`, `[]`, ``,
	} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := read(t.Context(), payload)
		if err != nil {
			return
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%q became an event that is none: %v", payload, err)
		}
	})
}
