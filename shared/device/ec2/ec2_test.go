package ec2_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
	"github.com/nodefence/nodefence/test/rig/port"
)

func TestConformance(t *testing.T) { devicetest.Run(t, harness()) }

func BenchmarkOffRead(b *testing.B) { devicetest.OffRead(b, "ec2", harness()) }

func harness() devicetest.Harness {
	return devicetest.Harness{
		Against:  "ec2",
		Secrets:  []string{key, secret, changed},
		Identity: id,
		New: func(t testing.TB, fault string) devicetest.Machine {
			s := serve(t)
			s.setFault(t, fault)
			url := s.url
			if fault == devicetest.Unreachable {
				url = "http://" + port.Nobody(t)
			}
			return devicetest.Machine{
				Driver:   dial(t, url, nil),
				On:       s.on,
				Commands: s.told,
				SetFault: func(fault string) { s.setFault(t, fault) },
				Settle:   s.Settle,
			}
		},
	}
}

// call is one method's name and what came of it.
type call struct{ off, on string }

// TestStates: what each state reads as, and what off and on do in it.
func TestStates(t *testing.T) {
	const (
		described = "DescribeInstances "
		forced    = "StopInstances force skip"
		started   = "StartInstances "
		wrong     = "IncorrectInstanceState"
		cant      = device.Power("")
	)
	for state, want := range map[ec2test.State]struct {
		power   device.Power
		off, on []string
		err     call
	}{
		ec2test.Pending: {device.On, []string{forced + " " + wrong, described}, []string{described, started}, call{
			off: "device refused in its present state: stop instance " + id + " in eu-west-1: IncorrectInstanceState: This instance '" + id + "' is not in a state from which it can be stopped."}},
		ec2test.Running: {device.On, []string{forced}, []string{described, started}, call{}},
		ec2test.Stopping: {cant, []string{forced}, []string{described, started + wrong, described}, call{
			on: "device refused in its present state: instance " + id + " is still stopping, and can be started when it is stopped"}},
		ec2test.Stopped: {device.Off, []string{forced}, []string{described, started}, call{}},
		ec2test.ShuttingDown: {cant, []string{forced + " " + wrong, described}, []string{described}, call{
			on: "device does not know this machine: instance " + id + " is terminated and can't be started again; delete the Node, and let another instance take its place"}},
		ec2test.Terminated: {device.Off, []string{forced + " " + wrong, described}, []string{described}, call{
			on: "device does not know this machine: instance " + id + " is terminated and can't be started again; delete the Node, and let another instance take its place"}},
		"hovering": {cant, []string{forced}, []string{described, started}, call{}},
	} {
		t.Run(string(state), func(t *testing.T) {
			in := func(do func(device.Driver) error) ([]string, string) {
				s := serve(t)
				s.Hold(true)
				s.Put(ec2test.Instance{ID: id, State: state})
				err := do(dial(t, s.url, nil))
				return s.sent(), devicetest.Words(err)
			}
			var r device.Reading
			sent, err := in(func(d device.Driver) (err error) { r, err = d.State(t.Context()); return err })
			wantErr, wantID := "", id
			if want.power == cant {
				wantErr, wantID = "machine is on its way off: instance "+id+" is "+string(state), ""
				if state == "hovering" {
					wantErr = "device does not support this: instance " + id + " is in state hovering, which this build does not know"
				}
			}
			got := []any{r, sent, err}
			if d := cmp.Diff([]any{device.Reading{Power: want.power, Identity: wantID}, []string{described}, wantErr}, got); d != "" {
				t.Error(d)
			}
			sent, err = in(func(d device.Driver) error { return d.Off(t.Context()) })
			if d := cmp.Diff([]any{want.off, want.err.off}, []any{sent, err}); d != "" {
				t.Error("off:", d)
			}
			sent, err = in(func(d device.Driver) error { return d.On(t.Context()) })
			if d := cmp.Diff([]any{want.on, want.err.on}, []any{sent, err}); d != "" {
				t.Error("on:", d)
			}
		})
	}
}

// TestHibernated: a machine whose memory is kept is not off, and is not started (S1, S4).
// Off sends a command that EC2 treats as already carried out.
func TestHibernated(t *testing.T) {
	const sleeps = "device refused in its present state: instance " + id + " is hibernated, and not off: started, it goes on where it was; terminate it, or start it and stop it without hibernation"
	type result struct {
		Power     device.Power
		State, On string
		Sent      []string
	}
	woken, slept := []string{"DescribeInstances ", "StartInstances "}, []string{"DescribeInstances "}
	for name, c := range map[string]struct {
		instance ec2test.Instance
		want     result
	}{
		"hibernated by somebody":                 {ec2test.Instance{State: ec2test.Stopped, Reason: "Client.UserInitiatedHibernate", Hibernates: true}, result{State: sleeps, On: sleeps, Sent: slept}},
		"stopped, though it could hibernate":     {ec2test.Instance{State: ec2test.Stopped, Reason: "Client.UserInitiatedShutdown", Hibernates: true}, result{Power: device.Off, Sent: woken}},
		"taken back by EC2, and may hibernate":   {ec2test.Instance{State: ec2test.Stopped, Reason: "Server.SpotInstanceShutdown", Hibernates: true}, result{State: sleeps, On: sleeps, Sent: slept}},
		"taken back by EC2, and can't":           {ec2test.Instance{State: ec2test.Stopped, Reason: "Server.SpotInstanceShutdown"}, result{Power: device.Off, Sent: woken}},
		"terminated, after it was":               {ec2test.Instance{State: ec2test.Terminated, Reason: "Client.UserInitiatedHibernate", Hibernates: true}, result{Power: device.Off, On: "device does not know this machine: instance " + id + " is terminated and can't be started again; delete the Node, and let another instance take its place", Sent: slept}},
		"awake again, with the reason of before": {ec2test.Instance{State: ec2test.Running, Reason: "Client.UserInitiatedHibernate", Hibernates: true}, result{Power: device.On, Sent: woken}},
	} {
		t.Run(name, func(t *testing.T) {
			c.instance.ID = id
			s := serve(t)
			s.Hold(true)
			s.Put(c.instance)
			d := dial(t, s.url, nil)
			r, err := d.State(t.Context())
			before := len(s.sent())
			on := d.On(t.Context())
			got := result{r.Power, devicetest.Words(err), devicetest.Words(on), s.sent()[before:]}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestErrors: each code in the one error that tells an operator what to correct, with one
// request and no more, whatever the SDK would do by itself.
func TestErrors(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		kind   error
		text   string
	}{
		"UnauthorizedOperation":        {403, device.ErrDenied, "UnauthorizedOperation: words of AWS"},
		"AuthFailure":                  {401, device.ErrDenied, "AuthFailure: words of AWS"},
		"ExpiredToken":                 {400, device.ErrDenied, "ExpiredToken: words of AWS"},
		"RequestExpired":               {400, device.ErrDenied, "RequestExpired: words of AWS"},
		"InvalidInstanceID.NotFound":   {400, device.ErrUnknown, "InvalidInstanceID.NotFound: words of AWS"},
		"InvalidInstanceID.Malformed":  {400, device.ErrUnknown, "InvalidInstanceID.Malformed: words of AWS"},
		"IncorrectInstanceState":       {400, device.ErrConflict, "IncorrectInstanceState: words of AWS"},
		"OperationNotPermitted":        {400, device.ErrConflict, "OperationNotPermitted: words of AWS"},
		"UnsupportedOperation":         {400, device.ErrUnsupported, "UnsupportedOperation: words of AWS"},
		"InsufficientInstanceCapacity": {500, device.ErrConflict, "InsufficientInstanceCapacity: words of AWS"},
		"RequestLimitExceeded":         {503, device.ErrUnreachable, "throttled by AWS, RequestLimitExceeded: words of AWS"},
		"Throttling":                   {400, device.ErrUnreachable, "throttled by AWS, Throttling: words of AWS"},
		"InternalError":                {500, device.ErrUnreachable, "InternalError: words of AWS"},
		"Unavailable":                  {503, device.ErrUnreachable, "Unavailable: words of AWS"},
		"Unheard":                      {400, device.ErrConflict, "Unheard: words of AWS"},
		"UnheardOfServer":              {500, device.ErrUnreachable, "UnheardOfServer: words of AWS"},
		"":                             {403, device.ErrUnsupported, "status 403 without an error code of AWS; is something else at this address?"},
	} {
		t.Run(code, func(t *testing.T) {
			s := serve(t)
			d := dial(t, s.url, nil)
			no := ec2test.Refusal{Status: want.status, Code: code, Message: "words of\n AWS. Encoded authorization failure message: xyz"}
			for name, do := range map[string]func(context.Context) error{
				"describe": func(ctx context.Context) error { _, err := d.State(ctx); return err },
				"stop":     d.Off,
				"start":    d.On,
			} {
				request := map[string]string{"describe": "DescribeInstances", "stop": "StopInstances", "start": "StartInstances"}[name]
				s.Refuse(request, no)
				s.Refuse("DescribeInstances", no)
				if name == "start" { // which looks before
					s.Refuse("DescribeInstances", ec2test.Refusal{})
					s.Put(ec2test.Instance{ID: id, State: ec2test.Stopped})
				}
				before := len(s.Actions())
				err := do(t.Context())
				text := want.kind.Error() + ": " + name + " instance " + id + " in eu-west-1: " + want.text
				if want.text != "" && code != "" {
					text += "."
				}
				if d := cmp.Diff(text, devicetest.Words(err)); d != "" || !errors.Is(err, want.kind) {
					t.Error(name, d)
				}
				n := 0
				for _, a := range s.Actions()[before:] {
					if a.Name == request {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%s: %d requests of %s", name, n, request)
				}
			}
		})
	}
}

// TestNotTheAPI is about answers that are none of AWS's.
func TestNotTheAPI(t *testing.T) {
	for name, want := range map[string]struct {
		answer http.HandlerFunc
		kind   error
	}{
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>ok</html>")) }, device.ErrUnknown},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, device.ErrUnknown},
		"not XML": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n{")) }, device.ErrUnknown},
		"a proxy's refusal": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>no</html>", http.StatusProxyAuthRequired)
		}, device.ErrUnsupported},
		"a broken balancer":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no</html>", http.StatusBadGateway) }, device.ErrUnreachable},
		"an instance unstated": {answering("<instancesSet><item><instanceId>" + id + "</instanceId></item></instancesSet>"), device.ErrUnreachable},
		"two instances": {answering("<instancesSet><item><instanceId>" + id + "</instanceId></item><item><instanceId>" + another +
			"</instanceId></item></instancesSet>"), device.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			ec2test.Nobody(t)
			srv := httptest.NewServer(want.answer)
			defer srv.Close()
			r, err := dial(t, srv.URL, nil).State(t.Context())
			if !errors.Is(err, want.kind) || r != (device.Reading{}) {
				t.Errorf("%+v, %v, want %v", r, err, want.kind)
			}
		})
	}
}

func answering(set string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<DescribeInstancesResponse><reservationSet><item>" + set + "</item></reservationSet></DescribeInstancesResponse>"))
	}
}

// sent are the requests with what they asked for and were refused with.
func (s *served) sent() []string {
	var out []string
	for _, a := range s.Actions() {
		line := a.Name + " "
		if a.Force {
			line += "force "
		}
		if a.SkipOsShutdown {
			line += "skip"
		}
		if a.Refused != "" && a.Name == "StopInstances" {
			line += " "
		}
		out = append(out, line+a.Refused)
	}
	return out
}

func TestLog(t *testing.T) {
	s := serve(t)
	before := time.Now()
	if err := dial(t, s.url, nil).Off(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []ec2test.Action{{Name: "StopInstances", Instance: id, Force: true, SkipOsShutdown: true}}
	if d := cmp.Diff(want, s.Actions(), cmpopts.IgnoreFields(ec2test.Action{}, "At")); d != "" {
		t.Error(d)
	}
	if at := s.Actions()[0].At; at.Before(before) || at.After(time.Now()) {
		t.Error("the log has another time:", at)
	}
}
