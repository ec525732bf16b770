package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent"
)

// The codes with which a call's container ends: those of the agents themselves.
const (
	codeDone   = 0
	codeOn     = 0
	codeFailed = 1
	codeOff    = 2
)

// File is where a pod finds its call, and Said where it leaves what came of it,
// for the kubelet to tell.
const (
	File = "/nodefence/call"
	Said = "/dev/termination-log"
)

// answer is what a pod says at its end.
type answer struct {
	// Action tells it from anything else that a program may leave there.
	Action string       `json:"action"`
	Power  device.Power `json:"power,omitempty"`
	// Kind and Error are why there is no answer, without secrets.
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
}

func (a answer) kind() error {
	if k := kinds[a.Kind]; k != nil {
		return k
	}
	return device.ErrUnsupported
}

// Command is `nodefence agent`: it makes the one call that it finds in a file, by
// an agent in dir, and leaves what came of it in another file. It gives the code
// to exit with.
func Command(file, dir, said string) int {
	action, r, err := serve(file, dir)
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
		err = os.WriteFile(said, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodefence agent:", err)
		return codeFailed // what it was is not known to anybody now
	}
	fmt.Println(string(text))
	return code
}

// serve makes the call, if there is time left for it. Its time began when this
// node received the file, however long it took from there to start the container.
func serve(file, dir string) (action string, r device.Reading, err error) {
	c, received, err := read(file)
	if err != nil {
		return "", r, err
	}
	age := time.Since(received)
	if age < 0 || age >= c.Limit || c.Limit > Longest {
		return c.Action, r, fmt.Errorf("%w: the call came to its node %s before the agent could be started, and holds for %s", device.ErrUnreachable, age.Round(time.Millisecond), c.Limit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Limit-age)
	defer cancel()
	k, err := agent.Kind(c.Agent, dir)
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

// read takes the call, and when it was written here.
func read(file string) (c Call, received time.Time, err error) {
	at, err := os.Stat(file)
	if err != nil {
		return c, received, fmt.Errorf("find the call: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, received, fmt.Errorf("read the call: %w", err)
	}
	if json.Unmarshal(text, &c) != nil {
		return c, received, errors.New("the call is not one of nodefence") // its error could show a secret
	}
	return c, at.ModTime(), nil
}
