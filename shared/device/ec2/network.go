package ec2

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/nodefence/nodefence/shared/device"
)

// savedTag, followed by the ID of a network interface, is the instance's tag that has the
// security groups to give back. They are kept with the instance and nowhere else, so a
// process that dies loses nothing.
const savedTag = "nodefence.io/security-groups/"

// byTag is the tag with the isolation groups with which Off has isolated interfaces,
// because the group in the configuration may have changed since. It begins with savedTag,
// because the account has a right for that prefix only.
const byTag = savedTag + "isolated-by"

// longestTag is the longest value that AWS accepts for a tag.
const longestTag = 256

// network is one machine's network.
type network struct {
	*instance
	// group lets no traffic in or out.
	group string
}

// wiring is the state of the machine's interfaces, by their IDs.
type wiring struct {
	id            string
	groups, saved map[string][]string
	// by are the groups with which Off has isolated interfaces.
	by []string
}

// ours: Off has isolated the interface with another isolation group than the configured
// one. The saved groups are those that it had before.
func (w wiring) ours(id string) bool {
	_, kept := w.saved[id]
	return kept && len(w.groups[id]) == 1 && slices.Contains(w.by, w.groups[id][0])
}

// doubtful: the saved groups differ from the interface's groups, and no tag says which
// group isolated it, because somebody has removed that tag. Either its one group is an
// isolation group, or the tag is old.
func (w wiring) doubtful(id string) bool {
	return len(w.by) == 0 && len(w.groups[id]) == 1 && readable(w.saved[id]) && !slices.Equal(w.groups[id], w.saved[id])
}

// State reads the groups of all interfaces. If only some are isolated, it is on in part: the
// next Off isolates the others, and the next On gives back what ours have lost (S22, S25).
func (n *network) State(ctx context.Context) (device.Reading, error) {
	_, w, err := n.look(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	alone, with := 0, 0
	for _, groups := range w.groups {
		if n.isolated(groups) {
			alone++
		} else if slices.Contains(groups, n.group) {
			with++
		}
	}
	switch {
	case alone == len(w.groups):
		return device.Reading{Power: device.Off, Identity: w.id}, nil
	case alone+with == 0:
		return device.Reading{Power: device.On, Identity: w.id}, nil
	}
	return device.Reading{Power: device.On, Identity: w.id, MissingSupply: fmt.Sprintf("instance %s is isolated in part: of its %d network interfaces %d have %s alone, and %d have it beside others",
		n.id, len(w.groups), alone, n.group, with)}, nil
}

func (n *network) isolated(groups []string) bool { return slices.Equal(groups, []string{n.group}) }

// Off saves the groups of the interfaces that are not isolated, and only then removes them.
func (n *network) Off(ctx context.Context) error {
	c, w, err := n.look(ctx)
	if err != nil {
		return err
	}
	open, tags, err := n.unsaved(w)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		return nil
	}
	if _, err := c.api.CreateTags(ctx, &sdk.CreateTagsInput{Resources: []string{n.id}, Tags: tags}, switching); err != nil {
		return c.explain(ctx, "save the security groups of", err)
	}
	for _, id := range open {
		if err := c.wire(ctx, "isolate", id, []string{n.group}); err != nil {
			return err
		}
	}
	return nil
}

// unsaved returns the interfaces that are not isolated, and the tags with their groups. If
// another isolation group of ours isolates an interface, its saved groups are left alone
// (S22: we take away only what we placed).
func (n *network) unsaved(w wiring) (open []string, tags []types.Tag, err error) {
	by := []string{n.group}
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		switch {
		case n.isolated(w.groups[id]):
			continue
		case w.doubtful(id):
			return nil, nil, fmt.Errorf("%w: network interface %s has %s, and tag %s%s of instance %s says that %s are to be given back to it; if %[3]s isolates it, give those back by hand, and then take that tag away",
				device.ErrConflict, line(id), line(w.groups[id][0]), savedTag, line(id), n.id, strings.Join(w.saved[id], ", "))
		}
		if open = append(open, id); w.ours(id) {
			by = append(by, w.groups[id][0])
			continue
		}
		before := strings.Join(slices.DeleteFunc(slices.Clone(w.groups[id]), func(g string) bool { return g == n.group }), " ")
		if before == "" || len(before) > longestTag {
			return nil, nil, fmt.Errorf("%w: the security groups of network interface %s can't be saved in a tag: %d of them", device.ErrUnsupported, line(id), len(w.groups[id]))
		}
		tags = append(tags, types.Tag{Key: aws.String(savedTag + id), Value: aws.String(before)})
	}
	slices.Sort(by)
	return open, append(tags, types.Tag{Key: aws.String(byTag), Value: aws.String(strings.Join(slices.Compact(by), " "))}), nil
}

// On gives the saved groups back. An interface that somebody else isolated has no saved
// groups, and stays as it is.
func (n *network) On(ctx context.Context) error {
	c, w, err := n.look(ctx)
	if err != nil {
		return err
	}
	var lost []string
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		switch {
		case w.doubtful(id) && !n.isolated(w.groups[id]):
			delete(w.saved, id) // the tag may be all that is left of the groups that the interface had
		case !n.isolated(w.groups[id]) && !w.ours(id):
		case !readable(w.saved[id]):
			lost = append(lost, line(id))
			delete(w.saved, id) // the value is for a person to look at
		default:
			if err := c.wire(ctx, "reconnect", id, w.saved[id]); err != nil {
				return err
			}
		}
	}
	if err := c.forget(ctx, w); err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%w: instance %s has no tag %s<interface> that says which security groups to give back to %s; give them back by hand",
			device.ErrConflict, n.id, savedTag, strings.Join(lost, ", "))
	}
	return nil
}

// wire replaces the groups of one interface.
func (c *connection) wire(ctx context.Context, verb, id string, groups []string) error {
	_, err := c.api.ModifyNetworkInterfaceAttribute(ctx, &sdk.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: aws.String(id), Groups: groups}, switching)
	return c.explain(ctx, verb+" network interface "+line(id)+" of", err)
}

// forget removes the tags when no groups are to be given back any more.
func (c *connection) forget(ctx context.Context, w wiring) error {
	var tags []types.Tag
	for _, id := range slices.Sorted(maps.Keys(w.saved)) {
		tags = append(tags, types.Tag{Key: aws.String(savedTag + id)})
	}
	if len(tags) == 0 && len(w.by) == 0 {
		return nil
	}
	tags = append(tags, types.Tag{Key: aws.String(byTag)})
	_, err := c.api.DeleteTags(ctx, &sdk.DeleteTagsInput{Resources: []string{c.id}, Tags: tags}, switching)
	return c.explain(ctx, "take the saved security groups off", err)
}

// readable reports whether the saved value is a list of security groups.
func readable(groups []string) bool {
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return !groupID.MatchString(g) })
}

var groupID = regexp.MustCompile(`^sg-([0-9a-f]{8}|[0-9a-f]{17})$`)

// look begins a conversation and reads the state of the interfaces.
func (n *network) look(ctx context.Context) (*connection, wiring, error) {
	c, err := n.connect(ctx)
	if err != nil {
		return nil, wiring{}, err
	}
	w, err := n.wiring(ctx, c)
	return c, w, err
}

// wiring reads this state in one request. An instance without interfaces can't be isolated.
// Interfaces that the API does not tell must not read as if there were none.
func (n *network) wiring(ctx context.Context, c *connection) (wiring, error) {
	i, err := c.whole(ctx)
	if err != nil {
		return wiring{}, err
	}
	w := wiring{id: line(*i.InstanceId), groups: map[string][]string{}, saved: map[string][]string{}}
	for _, ni := range i.NetworkInterfaces {
		var groups []string
		for _, g := range ni.Groups {
			groups = append(groups, aws.ToString(g.GroupId))
		}
		if ni.NetworkInterfaceId == nil || len(groups) == 0 {
			return wiring{}, fmt.Errorf("%w: the API does not tell the security groups of all network interfaces of instance %s", device.ErrUnreachable, n.id)
		}
		slices.Sort(groups)
		w.groups[*ni.NetworkInterfaceId] = groups
	}
	if len(w.groups) == 0 {
		return wiring{}, fmt.Errorf("%w: the API tells of no network interface of instance %s, which is %s", device.ErrUnknown, n.id, line(string(i.State.Name)))
	}
	for _, t := range i.Tags {
		if aws.ToString(t.Key) == byTag {
			w.by = strings.Fields(aws.ToString(t.Value))
		} else if id, ours := strings.CutPrefix(aws.ToString(t.Key), savedTag); ours {
			w.saved[id] = strings.Fields(aws.ToString(t.Value))
		}
	}
	return w, nil
}
