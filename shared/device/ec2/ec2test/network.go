package ec2test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// network reads the parameters of the requests about a network or about tags.
func (a *Action) network(form url.Values) {
	a.Interface = form.Get("NetworkInterfaceId")
	for i := 1; form.Has(fmt.Sprint("SecurityGroupId.", i)); i++ {
		a.Groups = append(a.Groups, form.Get(fmt.Sprint("SecurityGroupId.", i)))
	}
	for i := 1; form.Has(fmt.Sprintf("Tag.%d.Key", i)); i++ {
		if a.Tags == nil {
			a.Tags = map[string]string{}
		}
		a.Tags[form.Get(fmt.Sprintf("Tag.%d.Key", i))] = form.Get(fmt.Sprintf("Tag.%d.Value", i))
	}
	if r := form.Get("ResourceId.1"); r != "" {
		a.Instance = r
	}
}

// modify replaces the groups of an interface.
func (c *Cloud) modify(a Action) Refusal {
	if len(a.Groups) == 0 {
		return Refusal{http.StatusBadRequest, "InvalidParameterCombination", "No attributes specified."}
	}
	for _, l := range c.instances {
		i := slices.IndexFunc(l.Interfaces, func(n Interface) bool { return n.ID == a.Interface })
		if i < 0 {
			continue
		}
		// A copy that was shown before must not change.
		l.Interfaces = slices.Clone(l.Interfaces)
		l.Interfaces[i].Next = a.Groups
		if !c.held {
			l.Interfaces[i].Groups, l.Interfaces[i].Next = a.Groups, nil
		}
		return Refusal{}
	}
	return Refusal{http.StatusBadRequest, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '" + a.Interface + "' does not exist"}
}

// rewire sets the groups that were held back.
func (c *Cloud) rewire(l *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.Interfaces = slices.Clone(l.Interfaces)
	for i := range l.Interfaces {
		if n := &l.Interfaces[i]; n.Next != nil {
			n.Groups, n.Next = n.Next, nil
		}
	}
}

// tag adds or removes tags.
func (l *life) tag(a Action) {
	tags := maps.Clone(l.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	for k, v := range a.Tags {
		if a.Name == "DeleteTags" {
			delete(tags, k)
		} else {
			tags[k] = v
		}
	}
	l.Tags = tags
}

// InstanceOf is an instance as it is.
func (c *Cloud) InstanceOf(id string) Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.instances[id]; l != nil {
		return l.Instance
	}
	return Instance{}
}

type interfaceXML struct {
	ID     string     `xml:"networkInterfaceId"`
	Groups []groupXML `xml:"groupSet>item"`
}

type groupXML struct {
	ID string `xml:"groupId"`
}

type tagXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func interfacesOf(i Instance) (out []interfaceXML) {
	for _, n := range i.Interfaces {
		x := interfaceXML{ID: n.ID}
		for _, g := range n.Groups {
			x.Groups = append(x.Groups, groupXML{g})
		}
		out = append(out, x)
	}
	return out
}

func tagsOf(i Instance) (out []tagXML) {
	for _, k := range slices.Sorted(maps.Keys(i.Tags)) {
		out = append(out, tagXML{k, i.Tags[k]})
	}
	return out
}

func done(name string) responseXML {
	yes := true
	return responseXML{XMLName: xml.Name{Space: namespace, Local: name + "Response"}, RequestID: requestID, Return: &yes}
}
