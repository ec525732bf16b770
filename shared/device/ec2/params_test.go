package ec2_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/ec2"
)

func TestAddress(t *testing.T) {
	const noID = " is not an instance ID: i- and 8 or 17 hexadecimal digits"
	const noURL = "endpoint is not an https URL"
	const more = "endpoint has more than a scheme, a host and a port"
	for name, tc := range map[string]struct{ instance, region, endpoint, want, err string }{
		"as AWS writes it":                            {id, region, "", "ec2:eu-west-1/" + id, ""},
		"one spelling":                                {" I-0123456789ABCDEF0 ", " EU-West-1 ", "", "ec2:eu-west-1/" + id, ""},
		"an old ID":                                   {"i-0abc1234", "us-gov-west-1", "", "ec2:us-gov-west-1/i-0abc1234", ""},
		"an endpoint is not the machine":              {id, region, "https://vpce-1.ec2.eu-west-1.vpce.amazonaws.com", "ec2:eu-west-1/" + id, ""},
		"an endpoint for tests":                       {id, region, "http://127.0.0.1:4566/", "ec2:eu-west-1/" + id, ""},
		"no instance":                                 {"", region, "", "", "instance is missing; give the instance ID, i-..., or let the node be enrolled with its provider ID"},
		"a host's name":                               {"ip-10-0-0-1", region, "", "", `instance "ip-10-0-0-1"` + noID},
		"two instances":                               {id + "," + another, region, "", "", `instance "` + id + "," + another + `"` + noID},
		"an ID of another length":                     {"i-0123456789", region, "", "", `instance "i-0123456789"` + noID},
		"a volume":                                    {"vol-0123456789abcdef0", region, "", "", `instance "vol-0123456789abcdef0"` + noID},
		"a line break":                                {id + "\ni", region, "", "", `instance "` + id + `\ni"` + noID},
		"no region":                                   {id, "", "", "", "region is missing; give the instance's, or let the node be enrolled with its provider ID"},
		"a zone":                                      {id, "eu-west-1a", "", "", `region "eu-west-1a" is not the name of a region, such as eu-west-1`},
		"a region that is a host's end":               {id, "x.example.com/", "", "", `region "x.example.com/" is not the name of a region, such as eu-west-1`},
		"an endpoint without a scheme":                {id, region, "localhost:4566", "", noURL},
		"an endpoint of another scheme":               {id, region, "ftp://localhost", "", noURL},
		"an endpoint without a host":                  {id, region, "http://:80", "", noURL},
		"an endpoint with a secret (S29)":             {id, region, "https://u:hunter2@x", "", "endpoint has more than a scheme, a host, a port and a path"},
		"an endpoint without TLS (S2)":                {id, region, "http://ec2.example", "", noURL + "; without TLS anybody can say that a machine is off"},
		"an endpoint with a path":                     {id, region, "https://x/ec2", "", more},
		"an endpoint with a query":                    {id, region, "https://x?a=b", "", "endpoint has more than a scheme, a host, a port and a path"},
		"an endpoint that is broken, not shown (S29)": {id, region, "https://u:hunter2@x:y", "", noURL},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"instance": tc.instance, "region": tc.region, "endpoint": tc.endpoint}
			got, err := ec2.Kind().Address(p)
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
			if d, oerr := ec2.Kind().Open(p); devicetest.Words(oerr) != tc.err || (d == nil) != (tc.err != "") {
				t.Errorf("open: %v, %v, want %q", d, oerr, tc.err)
			}
		})
	}
}

func TestOpenKeys(t *testing.T) {
	for name, tc := range map[string]struct{ access, secret, err string }{
		"both":                        {key, secret, ""},
		"neither":                     {"", "", ""},
		"the name without the secret": {key, "", "secret_key is missing; access_key needs it"},
		"the secret without its name": {"", secret, "access_key is missing; secret_key needs it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ec2.Kind().Open(map[string]string{"instance": id, "region": region, "access_key": tc.access, "secret_key": tc.secret})
			if devicetest.Words(err) != tc.err {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

func TestCloud(t *testing.T) {
	in := func(region string) map[string]string { return map[string]string{"instance": id, "region": region} }
	for providerID, want := range map[string]map[string]string{
		"aws:///eu-west-1a/" + id:               in("eu-west-1"),
		"aws:///us-gov-west-1b/" + id:           in("us-gov-west-1"),
		"aws:///us-iso-east-1a/" + id:           in("us-iso-east-1"),
		"aws:///ap-southeast-12c/" + id:         in("ap-southeast-12"),
		"aws:///us-west-2-lax-1a/" + id:         in("us-west-2"),
		"aws:///us-east-1-wl1-bos-wlz-1/" + id:  in("us-east-1"),
		"aws:////" + id:                         {"instance": id}, // without a zone: the region is asked for
		"aws:///eu-west-1/" + id:                nil,
		"aws:///x/" + id:                        nil,
		"aws:///eu-west-1a/" + id + "/x":        nil,
		"aws:///eu-west-1a/x/fargate-ip-10-0-0": nil,
		"aws:///eu-west-1a/i-xyz":               nil,
		"aws://" + id:                           nil,
		"aws:///" + id:                          nil,
		"gce://project/zone/name":               nil,
		"":                                      nil,
	} {
		got, ok := ec2.Kind().Cloud(providerID)
		if d := cmp.Diff(fmt.Sprint(want, want != nil), fmt.Sprint(got, ok)); d != "" {
			t.Error(providerID, d)
		}
		if _, err := ec2.Kind().Address(got); ok && got["region"] != "" && err != nil {
			t.Error(providerID, "chooses no machine:", err)
		}
	}
}
