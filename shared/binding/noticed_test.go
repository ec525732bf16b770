package binding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/binding/version"
	"github.com/nodefence/nodefence/shared/device"
)

// TestWhatHasChangedIsNoticed: each fence resolves anew after the change, and gets what the
// ConfigMaps say then (S11).
func TestWhatHasChangedIsNoticed(t *testing.T) {
	const (
		bmc  = "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip="
		here = "aws:///eu-west-1a/" + instance
	)
	own := func(node, method string) func(*world) {
		return func(w *world) {
			w.put(write("fence-config-node-"+node, "config.properties", "node_name="+node+"\npower_management=m", "fence-method-m", method))
		}
	}
	has := func(name, provider string) func(*world) {
		return func(w *world) {
			n := node(name, "uid-"+name, "")
			w.nodes[name] = &n
			w.put(enrol(name, "uid-"+name, provider))
		}
	}
	puts := func(name string, kv ...string) func(*world) { return func(w *world) { w.put(write(name, kv...)) } }
	all := func(does ...func(*world)) func(*world) {
		return func(w *world) {
			for _, do := range does {
				do(w)
			}
		}
	}
	byTemplate := all(own("a", "template=t\nip=10.0.0.1"), puts("t", "template.properties", "agent_name=fence_ipmilan\nsecret=s\nusername=u"))
	asInstance := own("a", "agent_name=fence_aws\nregion=eu-west-1\nplug="+instance)
	for name, c := range map[string]struct {
		before, after func(*world)
		// same: the change is of the ledger or the FenceTarget, and the result stays.
		// unkept: what is resolved depends on too much to be kept.
		same, unkept bool
	}{
		"its own ConfigMap":                               {before: own("a", bmc+"10.0.0.1"), after: own("a", bmc+"10.0.0.2")},
		"its own ConfigMap is deleted":                    {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { delete(w.maps, "fence-config-node-a") }},
		"a refusal is mended":                             {before: own("a", "nonsense"), after: own("a", bmc+"10.0.0.2")},
		"a template":                                      {before: byTemplate, after: puts("t", "template.properties", "agent_name=fence_ipmilan\nsecret=s\nusername=v")},
		"the cluster's limit":                             {before: all(own("a", bmc+"10.0.0.1"), puts("fence-policy-fence-limit", "config.properties", "percentage=30")), after: puts("fence-policy-fence-limit", "config.properties", "percentage=40")},
		"another node is given the same outlet":           {before: own("a", bmc+"10.0.0.1"), after: own("b", bmc+"10.0.0.1")},
		"another node is given another one":               {before: all(own("a", bmc+"10.0.0.1"), own("b", bmc+"10.0.0.1")), after: own("b", bmc+"10.0.0.2")},
		"its enrolment is another machine's":              {before: has("a", here), after: func(w *world) { w.put(enrol("a", "uid-a", "aws:///eu-west-1a/"+another)) }},
		"its enrolment is deleted":                        {before: has("a", here), after: func(w *world) { delete(w.maps, "fence-enrolled-a") }},
		"it is enrolled at last":                          {before: func(w *world) { delete(w.maps, "fence-enrolled-a") }, after: has("a", here)},
		"another Node has its name":                       {before: has("a", here), after: func(w *world) { n := node("a", "second", ""); w.nodes["a"] = &n }},
		"its Node is gone":                                {before: has("a", here), after: func(w *world) { delete(w.nodes, "a") }},
		"its type":                                        {before: puts("fence-config-type-t", "config.properties", "power_management=m", "fence-method-m", "agent_name=manual"), after: func(w *world) { w.nodes["a"].Labels = map[string]string{"type": "t"} }},
		"another node was enrolled as the same machine":   {before: has("a", here), after: has("b", "aws:///eu-west-1b/"+instance)},
		"another node is no longer the same machine":      {before: all(has("a", here), has("b", here)), after: func(w *world) { w.put(enrol("b", "uid-b", "")) }, unkept: true},
		"the first node with a provider ID":               {before: all(func(w *world) { w.put(enrol("a", "uid-a", "")) }, asInstance), after: has("b", here)},
		"another node with a provider ID":                 {before: all(has("b", "kind://x/y"), func(w *world) { w.put(enrol("a", "uid-a", "")) }, asInstance), after: has("b", here), unkept: true},
		"the ledger's version is too old":                 {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.configs.ObservedAt.Time = w.configs.ObservedAt.Add(-31 * time.Second) }, same: true},
		"the ledger's version lies ahead":                 {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.configs.ObservedAt.Time = w.configs.ObservedAt.Add(4 * time.Second) }, same: true},
		"the ledger has no version":                       {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.configs = nil }, same: true},
		"the ledger's version is empty":                   {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.configs.Version = "" }, same: true},
		"the FenceTarget is of a release that keeps none": {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.targets["a"].Status.Binding = nil }, same: true},
		"another program kept it":                         {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.targets["a"].Status.Binding.Resolver = "another" }, same: true},
		"a program that does not know itself kept it":     {before: own("a", bmc+"10.0.0.1"), after: func(w *world) { w.targets["a"].Status.Binding.Resolver = "" }, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			has("a", "")(w)
			c.before(w)
			w.seen()
			w.check("a")
			lists := w.lists
			was := w.bind("a")
			if unkept := w.lists != lists; unkept != c.unkept {
				t.Errorf("before the change: resolved anew is %t", unkept)
			}
			if !c.same {
				c.after(w)
			}
			w.seen()
			if c.same {
				c.after(w)
			}
			lists = w.lists
			got := w.bind("a")
			if w.lists != lists+1 {
				t.Errorf("%d lists of the ConfigMaps, want one", w.lists-lists)
			}
			if want := w.without(func() string { return w.bind("a") }); got != want || (got == was) != c.same {
				t.Errorf("got  %s\nwant %s\nwas  %s", got, want, was)
			}
		})
	}
}

// TestAnAgentIsNoticed: a binding that an installed agent takes part in holds as long as the agent's
// program is the same. What came of an agent that did not tell its parameters is not kept: it
// may tell them the next time.
func TestAnAgentIsNoticed(t *testing.T) {
	w := newWorld(t)
	w.agents = pduDir(t)
	n := node("a", "uid-a", "")
	w.nodes["a"] = &n
	w.put(enrol("a", "uid-a", ""))
	method := func(agent string) {
		w.put(write("fence-config-node-a", "config.properties", "node_name=a\npower_management=m", "fence-method-m", "agent_name="+agent+"\nip=10.0.0.9\nplug=7\nsecret=pdu"))
	}
	lists := func(want int, when string) {
		t.Helper()
		was := w.lists
		if w.bind("a"); w.lists-was != want {
			t.Errorf("%s: %d lists of the ConfigMaps, want %d", when, w.lists-was, want)
		}
	}
	method("fence_pdu")
	w.seen()
	w.check("a")
	lists(0, "as it is")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(w.agents, "fence_pdu"), later, later); err != nil {
		t.Fatal(err)
	}
	lists(1, "its agent was replaced")
	w.check("a")
	lists(0, "checked again")
	method("fence_other")
	w.seen()
	w.check("a")
	lists(1, "an agent that is not there")
}

// onSeven is a method of node 7 that would be one of a node on-7.
func onSeven(w *world) {
	n := node("7", "uid-7", "")
	w.nodes["7"] = &n
	w.put(enrol("7", "uid-7", ""))
	w.put(write("fence-config-default", "config.properties", "power_management=m"))
	w.put(write("fence-config-node-7", "config.properties", "node_name=7\npower_management=m-on"))
	w.put(write("fence-method-m-on-7", "method.properties", "agent_name=fence_ipmilan\nusername=u\nsecret=s\nip=10.0.0.7"))
}

// TestANodeOfTheOtherReading: a ConfigMap that a node reads is another node's too, once that
// one is enrolled (S11).
func TestANodeOfTheOtherReading(t *testing.T) {
	w := newWorld(t)
	onSeven(w)
	w.seen()
	was := w.check("7")
	w.put(enrol("on-7", "uid-on-7", ""))
	w.seen()
	if got := w.bind("7"); got == was || !strings.Contains(got, "node on-7 has the same device address") {
		t.Error(got)
	}
}

// TestANewNodeChangesNothing for the others: no fence and no check of them lists ConfigMaps.
func TestANewNodeChangesNothing(t *testing.T) {
	w := newWorld(t)
	a := node("a", "1", "")
	w.nodes["a"] = &a
	w.put(enrol("a", "1", "aws:///eu-west-1a/"+instance))
	w.seen()
	want := w.check("a")
	lists := w.lists
	w.put(enrol("b", "2", "aws:///eu-west-1a/"+another))
	w.seen()
	w.requests = nil
	if got := w.check("a"); got != want || w.lists != lists || len(w.requests) > 0 {
		t.Errorf("a check: %d lists, %v: %s", w.lists-lists, w.requests, got)
	}
	w.bind("a")
	if w.lists != lists || len(w.requests) != 3 { // the FenceTarget, the enrolment, and the ledger where it was not read yet
		t.Errorf("a fence: %v", w.requests)
	}
	w.turns, w.requests = nil, nil // a source that says no enrolments
	if got := w.check("a"); got != want || len(w.requests) != 1 || w.lists != lists {
		t.Errorf("%v: %s", w.requests, got)
	}
}

// TestClouds: what is kept by another node's enrolment of another machine, by which version
// and Apart go, is so of every driver.
func TestClouds(t *testing.T) {
	given := []map[string]string{
		{}, {"region": "eu-west-1"}, {"auth_url": "https://k.example/v3", "project_name": "p", "username": "u"},
		{"tenant_id": "00112233-4455-6677-8899-aabbccddeeff", "client_id": "00112233-4455-6677-8899-aabbccddeeff"}, {"region": "eu-west-1", "group": "sg-01234567"},
	}
	for name, k := range Drivers {
		if k.Cloud == nil {
			continue
		}
		if _, ok := k.Cloud(""); ok {
			t.Errorf("%s: no provider ID is an instance", name)
		}
		addresses := map[string]string{}
		for _, id := range providers {
			p, ok := k.Cloud(id)
			if !ok {
				continue
			}
			for i, more := range given {
				q := map[string]string{}
				for _, m := range []map[string]string{more, p} {
					for key, v := range m {
						q[key] = v
					}
				}
				at, err := k.Address(q)
				if err != nil {
					continue
				}
				if !strings.HasPrefix(at, name+":") {
					t.Errorf("%s: the address is %s", name, at)
				}
				addresses[at+strings.Repeat(" ", i)] = id
				for other, was := range addresses {
					if strings.TrimSpace(other) == at && version.ProviderKey(was) != version.ProviderKey(id) {
						t.Errorf("%s: %s and %s have one address, %s, and two keys", name, id, was, at)
					}
				}
			}
			for _, other := range providers {
				if o, ok := k.Cloud(other); ok && device.SameIdentity(o[k.Identity], p[k.Identity]) && version.ProviderKey(other) != version.ProviderKey(id) {
					t.Errorf("%s: %s and %s are one machine, and have two keys", name, id, other)
				}
			}
		}
		if len(addresses) == 0 {
			t.Errorf("%s: no instance was tried", name)
		}
	}
}
