package azure_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

func TestAddress(t *testing.T) {
	const all = "azure:" + subscription + "/rg-cluster/worker-7"
	for name, tc := range map[string]struct {
		more      map[string]string
		want, err string
	}{
		"all":                                {want: all},
		"in capitals, which is the same":     {more: map[string]string{"resourceGroup": "RG-Cluster", "vm": "Worker-7"}, want: all},
		"no machine":                         {more: map[string]string{"vm": ""}, err: "vm is missing; give the machine's name, or let the node be enrolled with its provider ID"},
		"one of a scale set":                 {more: map[string]string{"vm": "pool_0/virtualMachines/1"}, err: `vm "pool_0/virtualMachines/1" is not the name of a virtual machine; those of scale sets of the uniform kind are not taken`},
		"no group":                           {more: map[string]string{"resourceGroup": ""}, err: "resourceGroup is missing; give the machine's, or let the node be enrolled with its provider ID"},
		"a group's path":                     {more: map[string]string{"resourceGroup": "a/b"}, err: `resourceGroup "a/b" is not the name of a resource group`},
		"a subscription's name":              {more: map[string]string{"subscriptionId": "mine"}, err: `subscriptionId "mine" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff`},
		"a tenant's path":                    {more: map[string]string{"tenantId": "a/b"}, err: `tenantId "a/b" is neither a directory's ID nor its domain`},
		"a person's name":                    {more: map[string]string{"username": "me@example"}, err: `username "me@example" is not a UUID, such as 00112233-4455-6677-8899-aabbccddeeff`},
		"without TLS":                        {more: map[string]string{"endpoint": "http://x.example"}, err: "endpoint is not an https URL; without TLS anybody can say that a machine is off"},
		"a path":                             {more: map[string]string{"authority": "https://x.example/t"}, err: "authority has a path; give scheme and host"},
		"a secret in a URL, not shown (S29)": {more: map[string]string{"endpoint": "https://u:hunter2@x"}, err: "endpoint has more than a scheme, a host, a port and a path"},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]string{"subscriptionId": subscription, "resourceGroup": group, "vm": "worker-7"}
			for k, v := range tc.more {
				p[k] = v
			}
			got, err := azure.Kind().Address(p)
			if d := cmp.Diff([]string{tc.want, tc.err}, []string{got, devicetest.Words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct{ user, password, tenant, err string }{
		"an application":             {client, secret, "t", ""},
		"this machine's identity":    {"", "", "", ""},
		"an application's ID alone":  {client, "", "t", "password is missing; username needs the application's secret"},
		"an application's secret":    {"", secret, "t", "username is missing; password needs the application's ID"},
		"an application of no place": {client, secret, "", "tenantId is missing; say in which directory the application is"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := azure.Kind().Open(map[string]string{
				"subscriptionId": subscription, "resourceGroup": group, "vm": "worker-7",
				"username": tc.user, "password": tc.password, "tenantId": tc.tenant,
			})
			if devicetest.Words(err) != tc.err {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

func TestCloud(t *testing.T) {
	const machine = "azure:///subscriptions/" + subscription + "/resourceGroups/rg-cluster/providers/Microsoft.Compute/virtualMachines/worker-7"
	for providerID, want := range map[string]map[string]string{
		machine:        {"subscriptionId": subscription, "resourceGroup": "rg-cluster", "vm": "worker-7"},
		machine + "/x": nil,
		"azure:///subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/pool/virtualMachines/0": nil,
		"azure:///subscriptions/x/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/worker-7":                                          nil,
		"gce://a/b/c": nil,
		"":            nil,
	} {
		got, ok := azure.Kind().Cloud(providerID)
		if d := cmp.Diff(fmt.Sprint(want, want != nil), fmt.Sprint(got, ok)); d != "" {
			t.Error(providerID, d)
		}
	}
}
