package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestDuplicates(t *testing.T) {
	said := func(cm, node string) string {
		return "ConfigMap " + cm + ": node " + node + " has the same device address 10.0.0.7:623 as node 7; neither of them is fenced before one is mended"
	}
	shared := configMap("fence-config-default", "config.properties", "power_management=ipmi\nrecovery=ipmi-on")
	on := strings.Replace(good, "action=off", "action=on", 1)
	two := []ConfigMap{configMap("fence-config-node-7", "config.properties", "node_name=7\npower_management=x-on"),
		configMap("fence-method-x-on-7", "method.properties", good), configMap("fence-config-type-t", "config.properties", "power_management=x")}
	for name, tc := range map[string]struct {
		maps     []ConfigMap
		enrolled []Node
		want     string
	}{
		"a method of the node's own that a type's node of another name could have, if there were one": {maps: two},
		"and there is one (S11)": {maps: two, enrolled: []Node{{Name: "on-7"}}, want: said("fence-method-x-on-7", "on-7")},
		"the node alone":         {maps: []ConfigMap{own(config, good)}},
		"another machine": {maps: []ConfigMap{own(config, good), configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=ipmi",
			"fence-method-ipmi", strings.Replace(good, "10.0.0.7", "10.0.0.8", 1))}},
		"the same machine (S11)": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=ipmi", "fence-method-ipmi", good)},
			want: said("fence-config-node-8", "8"),
		},
		"the same machine, by the older name": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-8", "config.properties", "node_name=8\npower_management=ipmi", "fence-method-ipmi", good)},
			want: said("fence-config-8", "8"),
		},
		"the same machine in a configuration that is refused for something else": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-node-8", "config.properties", "node_name=7\npower_management=ipmi foo", "fence-method-ipmi", good)},
			want: said("fence-config-node-8", "8"),
		},
		"the same machine in a method's ConfigMap": {
			maps: []ConfigMap{own(config, good), configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=x"), configMap("fence-method-x-8", "method.properties", good)},
			want: said("fence-config-node-8", "8"),
		},
		"the same machine by way of a type or the default": {
			maps: []ConfigMap{own(config, good), shared, configMap("fence-method-ipmi-8", "method.properties", good)},
			want: said("fence-method-ipmi-8", "8"),
		},
		"a node's own method is not another node's": {
			maps: []ConfigMap{shared, configMap("fence-method-ipmi-7", "method.properties", good), configMap("fence-method-ipmi-on-7", "method.properties", on)},
		},
		"one ConfigMap that is two nodes' method (S11)": {
			maps: []ConfigMap{
				configMap("fence-config-default", "config.properties", "power_management=x-on"), configMap("fence-method-x-on-7", "method.properties", good),
				configMap("fence-config-type-t", "config.properties", "power_management=x"),
			},
			want: said("fence-method-x-on-7", "on-7"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := resolved(tc.maps, node7, settings())
			if err != nil {
				t.Fatal(err)
			}
			err = duplicates(tc.maps, tc.enrolled, settings(), node7, p.Binding)
			if d := cmp.Diff(tc.want, words(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	b := api.Binding{Params: map[string]string{"ip": "a"}, SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindSecret, Name: "s", Key: "password"}}}
	left := api.Binding{SecretRefs: []api.SecretRef{{Parameter: "password", Kind: api.KindConfigMap, Name: "m", Key: "k/passwd"}}}
	for name, tc := range map[string]struct {
		binding api.Binding
		value   string
		err     error
		want    map[string]string
		words   string
	}{
		"secrets join the parameters":     {binding: b, value: "pass", want: map[string]string{"ip": "a", "password": "pass"}},
		"no parameters":                   {binding: left, value: "pass", want: map[string]string{"password": "pass"}},
		"nothing secret":                  {binding: api.Binding{}, want: map[string]string{}},
		"no Secret":                       {binding: b, err: errors.New("not found"), words: "Secret s, key password: not found"},
		"a ConfigMap that has gone":       {binding: left, err: errors.New("not found"), words: "ConfigMap m, key k/passwd: not found"},
		"an empty value":                  {binding: b, words: "Secret s, key password: empty"},
		"an echo's line break, not shown": {binding: b, value: "pass\n", words: "Secret s, key password: the value has control characters, or a line break at its end; write it with printf %s, or as stringData"},
		"what is not text, not shown":     {binding: b, value: "\xff", words: "Secret s, key password: the value has control characters, or a line break at its end; write it with printf %s, or as stringData"},
	} {
		t.Run(name, func(t *testing.T) {
			before, _ := json.Marshal(tc.binding)
			got, err := Credentials(tc.binding, func(api.SecretRef) (string, error) { return tc.value, tc.err })
			if d := cmp.Diff(tc.words, words(err)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if after, _ := json.Marshal(tc.binding); string(after) != string(before) {
				t.Error("the binding has changed (S29):", string(after))
			}
		})
	}
}

func TestLiteral(t *testing.T) {
	m := configMap("m", "k", "ip=a\n pass-wd = p=# \n", "torn", "x")
	for name, tc := range map[string]struct{ key, want, words string }{
		"as it stands":        {key: "k/pass_wd", want: "p=#"},
		"a parameter is gone": {key: "k/password", words: `ConfigMap m, key k: "password" is missing`},
		"the key is gone":     {key: "x/password", words: "ConfigMap m, key x: missing"},
		"no parameter":        {key: "k", words: "ConfigMap m, key k: missing"},
		"a torn line":         {key: "torn/password", words: "ConfigMap m, key torn, line 1: not a key=value line"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Literal(m, tc.key)
			if d := cmp.Diff([]string{tc.want, tc.words}, []string{got, words(err)}); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzResolve(f *testing.F) {
	f.Add(config, "agent_name=fence_bmc\nip=a\nusername=b", "cipher=3", "template=t")
	f.Add(config, "agent_name=fence_pdu\ntemplate=t", "plug=3", "agent_name=fence_bmc\naction=off")
	f.Add("node_name=7\npower_management=ipmi ipmi", good, "passwd=x", "")
	f.Add("power_management", "=", "\x00=\xff", "template=t")
	const secret = "Hunter2-Correct-Horse"
	f.Fuzz(func(t *testing.T, props, before, after, template string) {
		method := before + "\npassword=" + secret + "\n" + after
		maps := []ConfigMap{own(props, method), configMap("t", "template.properties", template+"\npasswd="+secret),
			configMap("fence-config-node-8", "config.properties", "node_name=8\npower_management=ipmi", "fence-method-ipmi", method)}
		p, err := resolved(maps, node7, settings())
		shown, jerr := json.Marshal(p)
		if jerr != nil {
			t.Fatal(jerr)
		}
		dup := duplicates(maps, nil, settings(), node7, p.Binding)
		if all := string(shown) + words(err) + words(dup); strings.Contains(all, secret) {
			t.Error("a secret is shown (S29):", all)
		}
		if err == nil && (p.Binding.Address == "" || !has(p.Power, Off)) {
			t.Error("a plan that proves nothing:", string(shown))
		}
	})
}
