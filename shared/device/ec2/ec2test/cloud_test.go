package ec2test_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
)

const id = "i-0123456789abcdef0"

// ask sends a form without the SDK.
func ask(c *ec2test.Cloud, form string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form)))
	return rec
}

func do(c *ec2test.Cloud, action string) int {
	return ask(c, "Version=2016-11-15&InstanceId.1="+id+"&Action="+action).Code
}

// TestTime: a state lasts as long as it was told to, and the hooks come at its end.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex // the hooks come from timers
		var got []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, time.Since(start).String()+" "+what)
		}
		c := &ec2test.Cloud{
			StopTakes: 30 * time.Second, StartTakes: 10 * time.Second,
			OnStop: func(id string) { note("stopped " + id) }, OnStart: func(id string) { note("started " + id) },
		}
		c.Put(ec2test.Instance{ID: id, State: ec2test.Running})
		at := func(d time.Duration) {
			time.Sleep(d - time.Since(start))
			synctest.Wait()
			note(string(c.StateOf(id)))
		}
		do(c, "StopInstances")
		at(30*time.Second - 1)
		do(c, "StopInstances") // makes it no later
		at(30 * time.Second)
		do(c, "StartInstances")
		at(40*time.Second - 1)
		at(40 * time.Second)
		c.Terminate(id)
		at(70*time.Second - 1)
		at(70 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		want := []string{
			"29.999999999s stopping", "30s stopped " + id, "30s stopped",
			"39.999999999s pending", "40s started " + id, "40s running",
			"1m9.999999999s shutting-down", "1m10s stopped " + id, "1m10s terminated",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// TestAnEarlierTurnsTimerIsNobodys: an instance that was stopped by hand and put
// back is not stopped again by what was under way.
func TestAnEarlierTurnsTimerIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &ec2test.Cloud{StopTakes: 30 * time.Second, OnStop: func(string) { t.Error("it was stopped") }}
		c.Put(ec2test.Instance{ID: id, State: ec2test.Running})
		do(c, "StopInstances")
		c.Put(ec2test.Instance{ID: id, State: ec2test.Running})
		time.Sleep(20 * time.Second)
		do(c, "StopInstances")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if s := c.StateOf(id); s != ec2test.Stopping {
			t.Error(s)
		}
		c.Put(ec2test.Instance{ID: id, State: ec2test.Running}) // before the second one's time
	})
}

func TestRequests(t *testing.T) {
	form := func(more string) string { return "Version=2016-11-15&Action=DescribeInstances" + more }
	for name, tc := range map[string]struct {
		form   string
		status int
		has    string
	}{
		"an instance":         {form("&InstanceId.1=" + id), 200, "<name>running</name>"},
		"one there isn't":     {form("&InstanceId.1=i-0fedcba9876543210"), 400, "<Code>InvalidInstanceID.NotFound</Code>"},
		"not an ID":           {form("&InstanceId.1=i-x"), 400, "<Code>InvalidInstanceID.Malformed</Code>"},
		"all instances":       {form(""), 400, "<Code>InvalidInstanceID.Malformed</Code>"},
		"two":                 {form("&InstanceId.1=" + id + "&InstanceId.2=" + id), 400, "<Code>InvalidAction</Code>"},
		"a reboot":            {"Version=2016-11-15&Action=RebootInstances&InstanceId.1=" + id, 400, "<Code>InvalidAction</Code>"},
		"another API version": {"Version=2010-01-01&Action=DescribeInstances&InstanceId.1=" + id, 400, "<Code>InvalidParameterValue</Code>"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &ec2test.Cloud{}
			c.Put(ec2test.Instance{ID: id, State: ec2test.Running})
			if rec := ask(c, tc.form); rec.Code != tc.status || !strings.Contains(rec.Body.String(), tc.has) {
				t.Error(rec.Code, rec.Body.String())
			}
		})
	}
}

// TestSignature: only the holder of the secret is let in, for what was signed.
func TestSignature(t *testing.T) {
	for name, tc := range map[string]struct {
		key, secret, token string
		spoil              func(*http.Request)
		code               string
	}{
		"the holder":                  {key: "AKIA1", secret: "s"},
		"the holder for an hour":      {key: "AKIA1", secret: "s", token: "t"},
		"another secret":              {key: "AKIA1", secret: "x", code: "AuthFailure"},
		"nobody known":                {key: "AKIA2", secret: "s", code: "AuthFailure"},
		"a token that was not signed": {key: "AKIA1", secret: "s", spoil: func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "t") }, code: "AuthFailure"},
		"another host":                {key: "AKIA1", secret: "s", spoil: func(r *http.Request) { r.Host = "elsewhere" }, code: "AuthFailure"},
		"unsigned":                    {key: "AKIA1", secret: "s", spoil: func(r *http.Request) { r.Header.Del("Authorization") }, code: "MissingAuthenticationToken"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &ec2test.Cloud{Secrets: map[string]string{"AKIA1": "s"}}
			c.Put(ec2test.Instance{ID: id, State: ec2test.Running})
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.spoil != nil {
					tc.spoil(r)
				}
				c.ServeHTTP(w, r)
			}))
			defer srv.Close()
			api := ec2.New(ec2.Options{
				Region: "eu-west-1", BaseEndpoint: aws.String(srv.URL), Retryer: aws.NopRetryer{},
				Credentials: credentials.NewStaticCredentialsProvider(tc.key, tc.secret, tc.token),
			})
			_, err := api.DescribeInstances(context.Background(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
			if (err == nil) != (tc.code == "") || (err != nil && !strings.Contains(err.Error(), tc.code)) {
				t.Errorf("%v, want %q", err, tc.code)
			}
		})
	}
}
