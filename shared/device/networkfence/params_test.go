package networkfence_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/networkfence"
)

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		more map[string]string
		want string
		err  string
	}{
		"an address":               {nil, "networkfence:rbd.csi.example/rook#10.0.0.7/32", ""},
		"a block of one":           {map[string]string{"cidrs": "10.0.0.7/32"}, "networkfence:rbd.csi.example/rook#10.0.0.7/32", ""},
		"several, in any order":    {map[string]string{"cidrs": "fd00::7, 10.0.0.7,10.0.0.7/32"}, "networkfence:rbd.csi.example/rook#10.0.0.7/32,fd00::7/128", ""},
		"IPv6 in another spelling": {map[string]string{"cidrs": "FD00:0::7/128"}, "networkfence:rbd.csi.example/rook#fd00::7/128", ""},
		"no cluster":               {map[string]string{"cluster_id": ""}, "networkfence:rbd.csi.example/#10.0.0.7/32", ""},
		"a network (S11)":          {map[string]string{"cidrs": "10.0.0.0/24"}, "", "cidrs has 10.0.0.0/24, which is more than one address: it would cut off other machines as well"},
		"everything":               {map[string]string{"cidrs": "0.0.0.0/0"}, "", "cidrs has 0.0.0.0/0, which is more than one address: it would cut off other machines as well"},
		"nobody":                   {map[string]string{"cidrs": "0.0.0.0"}, "", "cidrs has 0.0.0.0/32, which is the address of no one machine"},
		"itself":                   {map[string]string{"cidrs": "127.0.0.1"}, "", "cidrs has 127.0.0.1/32, which is the address of no one machine"},
		"a name":                   {map[string]string{"cidrs": "worker-7"}, "", `cidrs has "worker-7", which is no address such as 10.0.0.7 or 10.0.0.7/32`},
		"a zone":                   {map[string]string{"cidrs": "fe80::1%eth0"}, "", `cidrs has "fe80::1%eth0", which is no address such as 10.0.0.7 or 10.0.0.7/32`},
		"IPv4 in IPv6":             {map[string]string{"cidrs": "::ffff:10.0.0.7"}, "", "cidrs has ::ffff:10.0.0.7/128, an IPv4 address in the form of IPv6; write it as IPv4"},
		"none":                     {map[string]string{"cidrs": " , "}, "", "cidrs is missing; give the addresses from which the machine speaks with the storage"},
		"no driver":                {map[string]string{"driver": ""}, "", "driver is missing; give the name of the CSI driver, as its StorageClass has it as provisioner"},
		"a path as driver":         {map[string]string{"driver": "../x"}, "", `driver "../x" is not the name of a CSI driver, such as rook-ceph.rbd.csi.ceph.com`},
		"a blank in the cluster":   {map[string]string{"cluster_id": "a b"}, "", `cluster_id "a b" has more in it than letters, digits, dashes, dots and underscores`},
		"half a secret":            {map[string]string{"csi_secret_namespace": ""}, "", "csi_secret_name and csi_secret_namespace belong together; give both or none"},
		"a secret in its place":    {map[string]string{"csi_secret_name": "s3cr3t!"}, "", "csi_secret_name and csi_secret_namespace are not the names of a Secret and its namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			k := networkfence.Kind(nil)
			got, err := k.Address(params(tc.more))
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
			if _, err := k.Open(params(tc.more)); tc.err == "" && !errors.Is(err, device.ErrNoCluster) || tc.err != "" && devicetest.Words(err) != tc.err {
				t.Error("open:", err)
			}
		})
	}
}

// TestEach: two machines that share one of their addresses are seen, by whichever
// driver of one storage cluster (S11).
func TestEach(t *testing.T) {
	k := networkfence.Kind(nil)
	for name, tc := range map[string]struct {
		more map[string]string
		want []string
	}{
		"several":                       {map[string]string{"cidrs": "10.0.0.8, 10.0.0.7"}, []string{"networkfence:rook#10.0.0.7/32", "networkfence:rook#10.0.0.8/32"}},
		"another driver of one storage": {map[string]string{"driver": "cephfs.csi.example"}, []string{"networkfence:rook#10.0.0.7/32"}},
		"no cluster is named":           {map[string]string{"cluster_id": ""}, []string{"networkfence:rbd.csi.example#10.0.0.7/32"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := k.Address(params(tc.more))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, k.Each(a)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestKind(t *testing.T) {
	k := networkfence.Kind(nil)
	if k.EffectDelay < 10*time.Second {
		t.Errorf("an Off whose call gave up may still be made, and is waited for %s (S8)", k.EffectDelay)
	}
	if k.Scope != device.ScopeStorage || k.Cloud != nil || k.Identity != "" {
		t.Errorf("%+v", k)
	}
	for _, p := range k.Params {
		if p.Machine != (p.Name == "cidrs") || p.Secret {
			t.Errorf("%+v", p)
		}
	}
}
