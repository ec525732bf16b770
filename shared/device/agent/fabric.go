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

// What agents for fabrics declare in their metadata, in Debian's 4.12.1: action on has
// automatic="1" for all of them, and on_target="1" for those that give access back only if they
// run on the machine itself.

// networks are the fabric agents whose ports belong to a network; those of the others belong to
// storage.
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

// noOn tells why an agent can't give back access. On another machine it would register that other
// machine, under the machine's key.
func (m *metadata) noOn() string {
	if !m.local {
		return ""
	}
	return "it gives access back only where it runs on the machine itself; have that register its key when it boots"
}

// keyed agents identify machines by the keys with which they are registered at disks.
func (m *metadata) keyed() bool { return m.fabric && m.has("key") }

// noPlug is for a name from which agents make a key with the help of Corosync.
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

// errBlind is the error of an off that does not count by itself (S2). A caller that has seen the
// same key registered before its own Off can accept it, by ErrBlind.
var errBlind = fmt.Errorf("%w: %w", device.ErrUnknown, device.ErrBlind)

var keyLike = regexp.MustCompile(`^[1-9a-f][0-9a-f]{0,15}$`)

// keyValue is a key in the spelling of the disks: in another spelling it is never found there,
// and would read as off.
func keyValue(v string) error {
	if !keyLike.MatchString(v) {
		return fmt.Errorf("%q is not a key as disks tell it: up to 16 hexadecimal digits in small letters, without 0x and zeros before them", v)
	}
	return nil
}

// disks are the disks of one list; if the list were empty, the agent would look for others.
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
