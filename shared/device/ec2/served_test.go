package ec2_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
)

const (
	id      = "i-0123456789abcdef0"
	another = "i-0fedcba9876543210"
	region  = "eu-west-1"
	key     = "AKIAIOSFODNN7EXAMPLE"
	secret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	changed = "changedXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE0"
)

// served is an account with one instance, whose API may misbehave.
type served struct {
	ec2test.Cloud
	devicetest.Fault
	url   string
	ended chan struct{}
}

// serve ends with t.
func serve(t testing.TB) *served {
	t.Helper()
	ec2test.Nobody(t)
	s := &served{Cloud: ec2test.Cloud{Secrets: map[string]string{key: secret}}, ended: make(chan struct{})}
	s.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: region + "a"})
	s.Show = s.show
	srv := httptest.NewServer(s)
	t.Cleanup(func() { close(s.ended); srv.Close() })
	s.url = srv.URL
	return s
}

func (s *served) setFault(t testing.TB, fault string) {
	t.Helper()
	s.Play(fault)
	s.Hold(false)
	for _, name := range []string{"DescribeInstances", "StopInstances", "StartInstances"} {
		s.Refuse(name, ec2test.Refusal{})
	}
	refusal := ec2test.Refusal{Status: 400, Code: "OperationNotPermitted", Message: "The instance '" + id + "' may not be stopped. Modify its 'disableApiStop' instance attribute"}
	switch fault {
	case devicetest.Refuse:
		s.Refuse("StopInstances", refusal)
	case devicetest.Mute:
		s.Refuse("StopInstances", refusal)
		s.Refuse("StartInstances", refusal)
		s.Refuse("DescribeInstances", ec2test.Refusal{Status: 500, Code: "InternalError", Message: "An internal error has occurred"})
	case devicetest.AcceptAndIgnore, devicetest.Slow, devicetest.Early, devicetest.Lie:
		s.Hold(true)
	case devicetest.Stopping:
		s.Hold(true)
		s.Put(ec2test.Instance{ID: id, State: ec2test.Stopping, Zone: region + "a"})
	}
}

// show is what the API pretends.
func (s *served) show(i ec2test.Instance) ec2test.Instance {
	if s.Is(devicetest.Other) {
		i.ID = another
	}
	if s.Is(devicetest.Early, devicetest.Lie) && i.State == ec2test.Stopping {
		i.State = ec2test.Stopped
	}
	return i
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.Is(devicetest.Hang):
		devicetest.Silence(r, s.ended)
	case s.Is(devicetest.WrongPassword):
		other := ec2test.Cloud{Secrets: map[string]string{key: changed}}
		other.ServeHTTP(w, r)
	case s.Is(devicetest.ResetConnection):
		s.Cloud.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case s.Is(devicetest.ConflictWhenOff):
		s.conflict(w, r)
	default:
		s.Cloud.ServeHTTP(w, r)
	}
}

// conflict refuses what is so already, which the API itself takes.
func (s *served) conflict(w http.ResponseWriter, r *http.Request) {
	is := map[ec2test.State]string{ec2test.Stopped: "StopInstances", ec2test.Running: "StartInstances"}[s.StateOf(id)]
	s.Refuse(is, ec2test.Refusal{Status: 400, Code: "IncorrectInstanceState", Message: "This instance is so already."})
	s.Cloud.ServeHTTP(w, r)
	s.Refuse(is, ec2test.Refusal{})
}

// told is in the suite's words.
func (s *served) told() []string {
	var words []string
	for _, a := range s.Actions() {
		switch {
		case a.Refused != "" || a.Name == "DescribeInstances":
		case a.Name == "StopInstances":
			words = append(words, "off")
		case a.Name == "StartInstances":
			words = append(words, "on")
		default:
			words = append(words, a.Name)
		}
	}
	return words
}

// on: an instance that is stopping still runs.
func (s *served) on() bool {
	st := s.StateOf(id)
	return st != ec2test.Stopped && st != ec2test.Terminated
}

func dial(t testing.TB, url string, more map[string]string) device.Driver {
	t.Helper()
	p := map[string]string{"instance": id, "region": region, "endpoint": url, "access_key": key, "secret_key": secret}
	maps.Copy(p, more)
	d, err := ec2.Kind().Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
