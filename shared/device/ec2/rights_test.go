package ec2_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
	"github.com/nodefence/nodefence/shared/device/ec2/ec2test"
)

// routed brings each request to the server of the test, whatever host it is for.
type routed struct{ http.Handler }

func (r routed) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := req.Clone(req.Context())
	in.Host = req.URL.Host
	r.ServeHTTP(w, in)
	return w.Result(), nil
}

// account is both drivers of one instance, whose requests come to this cloud.
func account(t *testing.T, c *ec2test.Cloud, more map[string]string) map[string]device.Rights {
	t.Helper()
	ec2test.Nobody(t)
	c.Put(ec2test.Instance{ID: id, State: ec2test.Running, Zone: region + "a", Interfaces: []ec2test.Interface{{ID: first, Groups: []string{nodes}}}})
	p := map[string]string{"instance": id, "region": region, "access_key": key, "secret_key": secret, "group": alone}
	maps.Copy(p, more)
	power, network := ec2.KindsOver(routed{c})
	all := map[string]device.Rights{}
	for name, k := range map[string]device.Kind{"ec2": power, "ec2-network": network} {
		d, err := k.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = d.(device.Rights)
	}
	return all
}

var unauthorized = ec2test.Refusal{Status: 403, Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation."}

// TestRights are asked for by trial, all at once, and nothing is switched.
func TestRights(t *testing.T) {
	for name, tc := range map[string]struct {
		driver string
		lacks  []string
		want   []string
	}{
		"all":               {"ec2", nil, []string{}},
		"to read":           {"ec2", []string{"StartInstances", "StopInstances"}, []string{"ec2:StartInstances", "ec2:StopInstances"}},
		"none":              {"ec2", []string{"DescribeInstances", "StartInstances", "StopInstances"}, []string{"ec2:DescribeInstances", "ec2:StartInstances", "ec2:StopInstances"}},
		"all of a network":  {"ec2-network", nil, []string{}},
		"to read a network": {"ec2-network", []string{"CreateTags", "DeleteTags", "ModifyNetworkInterfaceAttribute"}, []string{"ec2:CreateTags", "ec2:DeleteTags", "ec2:ModifyNetworkInterfaceAttribute"}},
		"not to read a network, whose interfaces nobody knows then": {"ec2-network", []string{"DescribeInstances", "CreateTags"}, []string{"ec2:DescribeInstances", "ec2:CreateTags"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &ec2test.Cloud{Secrets: map[string]string{key: secret}}
			for _, n := range tc.lacks {
				c.Refuse(n, unauthorized)
			}
			d := account(t, c, nil)[tc.driver]
			was := c.InstanceOf(id)
			got, err := d.Lacking(t.Context())
			if d := cmp.Diff(tc.want, got); d != "" || err != nil {
				t.Error(devicetest.Words(err), d)
			}
			if d := cmp.Diff(was, c.InstanceOf(id)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNoTrialElsewhere: an API that may not know trials is sent none that would change
// something (S2), and one that shows that it knows none is sent no more.
func TestNoTrialElsewhere(t *testing.T) {
	const judged = "device does not support this: rights are asked for at AWS's own address only: another API may carry out what is to be judged only"
	for name, tc := range map[string]struct {
		deaf     bool
		endpoint string
		env      map[string]string
		want     string
		trials   []string
	}{
		"another host":                         {endpoint: "https://ec2.example", want: judged},
		"another host of a name that is near":  {endpoint: "https://ec2.eu-west-1.amazonaws.com.example", want: judged},
		"another region's":                     {endpoint: "https://ec2.us-east-1.amazonaws.com", want: judged},
		"another port":                         {endpoint: "https://ec2.eu-west-1.amazonaws.com:4566", want: judged},
		"this very machine, without TLS":       {endpoint: "http://127.0.0.1:4566", want: judged},
		"another host, by AWS's own variable":  {env: map[string]string{"AWS_ENDPOINT_URL_EC2": "https://ec2.example"}, want: judged},
		"AWS's own, and it carries out a read": {deaf: true, trials: []string{"DescribeInstances"}, want: "device does not support this: the API at the address of instance " + id + " has carried out ec2:DescribeInstances, which was to be judged only"},
		"AWS's own, by its name":               {endpoint: "https://ec2.eu-west-1.amazonaws.com", trials: []string{"DescribeInstances", "StartInstances", "StopInstances"}},
		"an endpoint in a VPC":                 {endpoint: "https://vpce-0123-abcd.ec2.eu-west-1.vpce.amazonaws.com", trials: []string{"DescribeInstances", "StartInstances", "StopInstances"}},
		"with FIPS":                            {env: map[string]string{"AWS_USE_FIPS_ENDPOINT": "true"}, trials: []string{"DescribeInstances", "StartInstances", "StopInstances"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &ec2test.Cloud{Secrets: map[string]string{key: secret}, Deaf: tc.deaf}
			more := map[string]string{}
			if tc.endpoint != "" {
				more["endpoint"] = tc.endpoint
			}
			all := account(t, c, more)
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			for driver, d := range all {
				before := len(c.Actions())
				_, err := d.Lacking(t.Context())
				var trials []string
				for _, a := range c.Actions()[before:] {
					if a.DryRun {
						trials = append(trials, a.Name)
					} else if a.Name != "DescribeInstances" {
						t.Errorf("%s: %s was sent in earnest", driver, a.Name)
					}
				}
				want := tc.trials
				if len(want) > 1 && driver == "ec2-network" {
					want = []string{"DescribeInstances", "CreateTags", "DeleteTags", "ModifyNetworkInterfaceAttribute"}
				}
				if d := cmp.Diff([]any{tc.want, want}, []any{devicetest.Words(err), trials}); d != "" {
					t.Errorf("%s: %s", driver, d)
				}
			}
			if s := c.StateOf(id); s != ec2test.Running {
				t.Errorf("it is %s", s)
			}
		})
	}
}

// TestRightsThatNobodyKnows are not called missing.
func TestRightsThatNobodyKnows(t *testing.T) {
	c := &ec2test.Cloud{Secrets: map[string]string{key: changed}}
	if got, err := account(t, c, nil)["ec2"].Lacking(t.Context()); got != nil || !errors.Is(err, device.ErrDenied) {
		t.Errorf("who is not let in: %q, %v", got, err)
	}
	c = &ec2test.Cloud{}
	c.Refuse("StartInstances", ec2test.Refusal{Status: 400, Code: "IncorrectInstanceState", Message: "not now"})
	c.Refuse("StopInstances", unauthorized)
	if got, err := account(t, c, nil)["ec2"].Lacking(t.Context()); !slices.Equal(got, []string{"ec2:StopInstances"}) || err != nil {
		t.Errorf("of a right that can't be judged now: %q, %v", got, err)
	}
}
