package agent

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nodefence/nodefence/shared/device"
)

// What agents for fabrics declare in their metadata, by Debian's 4.12.1: the action
// on is automatic="1" for all of them, on_target="1" for those that give access
// back only where they run on the machine itself.

// networks are the fabric agents whose ports are a network's; the others' are a
// storage's.
var networks = named("ifmib")

func (m *metadata) scope() device.Scope {
	switch {
	case !m.fabric:
		return device.ScopePower
	case networks[m.agent]:
		return device.ScopeNetwork
	}
	return device.ScopeStorage
}

// noOn tells why an agent can't give back access. Run elsewhere than on the machine
// it would register whoever runs it, under the machine's key.
func (m *metadata) noOn() string {
	if !m.local {
		return ""
	}
	return "it gives access back only where it runs on the machine itself; have that register its key when it boots"
}

// keyed agents know machines by the keys with which they are registered at disks.
func (m *metadata) keyed() bool { return m.fabric && m.has("key") }

// noPlug is for a name of which agents make a key by Corosync.
const noPlug = "the agent makes a key of it by way of Corosync; give key, the one that the machine is registered with"

func (m *metadata) denied(name string) string {
	switch {
	case !m.keyed():
	case name == "key":
		return ""
	case name == "plug":
		return noPlug
	}
	return denied(m.agent, name)
}

// errBlind is of an off that counts for nothing by itself (S2). Who has seen the same
// key registered before an Off of their own knows better, by ErrBlind.
var errBlind = fmt.Errorf("%w: %w", device.ErrUnknown, device.ErrBlind)

var keyLike = regexp.MustCompile(`^[1-9a-f][0-9a-f]{0,15}$`)

// keyValue is as disks tell it: in another spelling it is never found there, and
// reads as off.
func keyValue(v string) error {
	if !keyLike.MatchString(v) {
		return fmt.Errorf("%q is not a key as disks tell it: up to 16 hexadecimal digits in small letters, without 0x and zeros before them", v)
	}
	return nil
}

// disks are those of one list; the agent would look for others if it were empty.
func disks(v string) error {
	all := strings.Split(v, ",")
	if slices.ContainsFunc(all, func(d string) bool {
		return !strings.HasPrefix(d, "/dev/") || path.Clean(d) != d || strings.ContainsFunc(d, special)
	}) {
		return fmt.Errorf("%q is not a list of disks such as /dev/disk/by-id/wwn-0x5000c500a1b2c3d4, separated by commas", v)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != strings.Count(v, ",")+1 {
		return errors.New("a disk stands in it twice")
	}
	return nil
}
