package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
)

// The exit codes of a call's container: those of the agents themselves.
const (
	codeDone   = 0
	codeOn     = 0
	codeFailed = 1
	codeOff    = 2
)

// Given is where a pod finds its call. Accepted is a folder that the node creates when it
// accepts the pod. Said is where the pod leaves its report, which the kubelet passes on.
const (
	Given    = "/nodefence/given/call"
	Accepted = "/nodefence/accepted"
	Said     = "/dev/termination-log"
)

// answer is a pod's report at its end.
type answer struct {
	// Action tells the report from anything else that a program may write there.
	Action string       `json:"action"`
	Power  device.Power `json:"power,omitempty"`
	// Kind and Error say why there is no result, without secrets.
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
}

func (a answer) kind() error {
	if k := kinds[a.Kind]; k != nil {
		return k
	}
	return device.ErrUnsupported
}

// Paths are where a pod finds what it needs. An empty path is where Jobs have it.
type Paths struct{ Given, Accepted, Said, Agents string }

// Command is `nodefence agent`: it makes the one call that it was given, and leaves a
// report. It returns the exit code.
func Command(at Paths) int {
	at.Given, at.Accepted, at.Said = cmp.Or(at.Given, Given), cmp.Or(at.Accepted, Accepted), cmp.Or(at.Said, Said)
	at.Agents = cmp.Or(at.Agents, "/usr/sbin")
	action, r, err := serve(at)
	a, code := answer{Action: action, Power: r.Power}, codeDone
	switch {
	case err != nil:
		a.Kind, a.Error = kindOf(err)
		code = codeFailed
	case r.Power == device.Off:
		code = codeOff
	}
	text, err := json.Marshal(a)
	if err == nil {
		err = os.WriteFile(at.Said, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodefence agent:", err)
		return codeFailed // nobody knows now what the call was
	}
	fmt.Println(string(text))
	return code
}

// serve makes the call, if there is time left for it. The time began when this node
// accepted the pod, however long it then took to receive the call, to pull an image, and to
// start the container. It is asked for once more right before the agent is told to switch.
func serve(at Paths) (action string, r device.Reading, err error) {
	c, err := read(at.Given)
	if err != nil {
		return "", r, err
	}
	age, err := ageOf(at)
	if err != nil {
		return c.Action, r, fmt.Errorf("see when the pod was accepted: %w", err)
	}
	if age < 0 || age >= c.Limit || c.Limit > Most {
		return c.Action, r, fmt.Errorf("%w: the pod was accepted %s before the agent could be started, and has %s", device.ErrUnreachable, age.Round(time.Millisecond), c.Limit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(c.Left, c.Limit-age))
	defer cancel()
	ctx = device.Timely(ctx, func() time.Duration { return left(at, c.Limit) }) // this node may sleep from here (S8)
	k, err := agent.Kind(c.Agent, at.Agents)
	if err != nil {
		return c.Action, r, err
	}
	d, err := k.Open(c.Params)
	if err != nil {
		return c.Action, r, err
	}
	switch c.Action {
	case "status":
		r, err = d.State(ctx)
	case "off":
		err = d.Off(ctx)
	case "on":
		err = d.On(ctx)
	default:
		err = errors.New("there is no such action")
	}
	return c.Action, r, err
}

// ageOf is how long ago this node accepted the pod, by a clock that counts the time it slept.
func ageOf(at Paths) (time.Duration, error) {
	accepted, err := os.Stat(at.Accepted)
	if err != nil {
		return 0, err
	}
	return time.Since(accepted.ModTime()), nil
}

// left is how much of the time is left that a call has; none where that can't be known.
func left(at Paths, limit time.Duration) time.Duration {
	age, err := ageOf(at)
	if err != nil {
		return 0
	}
	return limit - age
}

func read(file string) (c Call, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("read the call: %w", err)
	}
	if json.Unmarshal(text, &c) != nil {
		return c, errors.New("the call is not one of nodefence") // the error could show a secret
	}
	return c, nil
}
