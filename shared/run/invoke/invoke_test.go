package invoke

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

// TestCall: the function is invoked by its name, with the whole event, and is not
// waited for.
func TestCall(t *testing.T) {
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType("io.nodefence.fence.fencing.v1")
	for name, c := range map[string]struct {
		status int
		err    string
	}{
		"taken":   {http.StatusAccepted, ""},
		"refused": {http.StatusForbidden, "invoke prod-power: "},
	} {
		t.Run(name, func(t *testing.T) {
			var path, how string
			var got event.Event
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path, how = r.URL.Path, r.Header.Get("X-Amz-Invocation-Type")
				body, err := io.ReadAll(r.Body)
				if err == nil {
					got, err = run.Structured(r.Context(), body)
				}
				if err != nil || !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/lambda/aws4_request") {
					t.Errorf("%v, signed %q", err, r.Header.Get("Authorization"))
				}
				w.WriteHeader(c.status)
			}))
			defer s.Close()
			caller, err := New(aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}, "prod-{function}")
			if err != nil {
				t.Fatal(err)
			}
			reply, err := caller.Call(t.Context(), "power", e)
			if (err == nil) != (c.err == "") || (err != nil && !strings.HasPrefix(err.Error(), c.err)) || reply != nil {
				t.Errorf("%v, %v", reply, err)
			}
			if path != "/2015-03-31/functions/prod-power/invocations" || how != "Event" || got.String() != e.String() {
				t.Errorf("%s %s\n%s", path, how, got)
			}
		})
	}
}

func TestWhatCallsNobody(t *testing.T) {
	for name, c := range map[string]struct{ region, name, want string }{
		"no place for the function": {"eu-central-1", "prod-power", `"prod-power" does not hold {function}, which stands for the function's name`},
		"no region":                 {"", "prod-{function}", "no region, set AWS_REGION"},
	} {
		if _, err := New(aws.Config{Region: c.region}, c.name); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
