package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// agentName is the name of an agent with one machine behind each address, as fence_ipmilan
// has. In its place stands a script of our own. It takes next to no time itself, so that what
// is measured is what it takes to run one; those of ClusterLabs are slower by their own time
// (BENCH=devices).
const agentName = "fence_alom"

// agentScript notes when it was told what, before it does anything else.
const agentScript = `#!/bin/sh
cd "${0%/*}" || exit 1
if [ "$*" = "-o metadata" ]; then
	exec cat metadata
fi
now=$(date +%s%N)
while IFS== read -r name value; do
	case $name in
	action | ip) eval "$name=\$value" ;;
	esac
done
echo "$now $action" >>"$ip.log"
case $action in
off) echo 0 >"$ip" ;;
on) echo 1 >"$ip" ;;
status)
	read -r power <"$ip"
	[ "$power" = 1 ] && echo "Status: ON" && exit
	echo "Status: OFF"
	exit 2
	;;
esac
exit 0
`

const agentMetadata = `<?xml version="1.0" ?>
<resource-agent name="fence_alom" shortdesc="Measures"><longdesc>Measures.</longdesc>
<parameters>
<parameter name="action" required="1"><content type="string" default="reboot"/></parameter>
<parameter name="ip" required="1"><content type="string"/></parameter>
<parameter name="username" required="1"><content type="string"/></parameter>
<parameter name="password" required="0"><content type="string"/></parameter>
</parameters>
<actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/></actions>
</resource-agent>
`

// agentBox is a folder with the agent and the machines that it switches.
type agentBox struct {
	dir string
	// at are the addresses of the machines' devices, by node.
	at map[string]string
}

func newAgentBox(dir string) (agentBox, error) {
	b := agentBox{filepath.Join(dir, "agents"), map[string]string{}}
	return b, errors.Join(os.Mkdir(b.dir, 0o700), os.WriteFile(filepath.Join(b.dir, agentName), []byte(agentScript), 0o700),
		os.WriteFile(filepath.Join(b.dir, "metadata"), []byte(agentMetadata), 0o600))
}

// add gives a machine a device, at an address of its own. The machine is on.
func (b agentBox) add(node string) error {
	n := len(b.at)
	b.at[node] = fmt.Sprintf("127.40.%d.%d", n/250, n%250+1)
	return b.on(node)
}

// on has somebody switch the machine on.
func (b agentBox) on(node string) error {
	return os.WriteFile(filepath.Join(b.dir, b.at[node]), []byte("1\n"), 0o600)
}

// told is what the agent was told of a machine, in order.
func (b agentBox) told(node string) ([]mark, error) {
	text, err := os.ReadFile(filepath.Join(b.dir, b.at[node]+".log"))
	if err != nil {
		return nil, fmt.Errorf("read what the agent was told of %s: %w", node, err)
	}
	return agentLog(string(text))
}

func agentLog(text string) (all []mark, err error) {
	for line := range strings.Lines(text) {
		at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		ns, err := strconv.ParseInt(at, 10, 64)
		if err != nil || what == "" {
			return nil, fmt.Errorf("read the agent's log: %q is no line of it", strings.TrimSpace(line))
		}
		all = append(all, mark{time.Unix(0, ns), what})
	}
	return all, nil
}
