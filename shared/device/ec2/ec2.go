package ec2

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/nodefence/nodefence/shared/device"
)

// instance is one machine.
type instance struct {
	id, region, endpoint string
	accessKey, secretKey string
	// own is this process's own AWS identity.
	own *account
}

// State reads the instance's state. Stopped and terminated are off (S1: no release without
// a proof).
func (i *instance) State(ctx context.Context) (device.Reading, error) {
	c, err := i.connect(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	return device.Arrived(ctx, c.state)
}

// state is one read. Anybody may have sent an instance on its way off. It is not on:
// otherwise nodefence would stop it, and later start it again (S12: only what we switched
// off is switched on). It is not off either, because it still runs (S2).
func (c *connection) state(ctx context.Context) (device.Reading, error) {
	i, err := c.whole(ctx)
	if err != nil {
		return device.Reading{}, err
	}
	id, state := line(*i.InstanceId), i.State.Name
	power := powers[state]
	switch {
	case hibernated(i):
		return device.Reading{}, c.sleeps()
	case state == types.InstanceStateNameStopping, state == types.InstanceStateNameShuttingDown:
		return device.Reading{}, fmt.Errorf("%w: instance %s is %s", device.ErrStopping, c.id, state)
	case power == device.Unknown:
		return device.Reading{}, fmt.Errorf("%w: instance %s is in state %s, which this build does not know", device.ErrUnsupported, c.id, line(string(state)))
	}
	return device.Reading{Power: power, Identity: id}, nil
}

// powers are the powers of states. A state that leads to running is on (S2).
var powers = map[types.InstanceStateName]device.Power{
	types.InstanceStateNamePending:    device.On,
	types.InstanceStateNameRunning:    device.On,
	types.InstanceStateNameStopped:    device.Off,
	types.InstanceStateNameTerminated: device.Off,
}

// hibernated: the instance's memory is kept, and everything on it continues when somebody
// starts it, also a pod that runs on another node meanwhile (S1, S4). A Spot instance that
// may hibernate does so by default when EC2 takes it back.
func hibernated(i types.Instance) bool {
	if i.State.Name != types.InstanceStateNameStopped || i.StateReason == nil {
		return false
	}
	code, may := aws.ToString(i.StateReason.Code), i.HibernationOptions != nil && aws.ToBool(i.HibernationOptions.Configured)
	return code == "Client.UserInitiatedHibernate" || may && strings.HasPrefix(code, "Server.Spot")
}

func (c *connection) sleeps() error {
	return fmt.Errorf("%w: instance %s is hibernated, and not off: started, it goes on where it was; terminate it, or start it and stop it without hibernation", device.ErrConflict, c.id)
}

// Off cuts the power. Force alone would first ask the operating system to shut down, and
// wait some minutes, in which the instance still writes.
func (i *instance) Off(ctx context.Context) error {
	c, err := i.connect(ctx)
	if err != nil {
		return err
	}
	_, err = c.api.StopInstances(ctx, &sdk.StopInstancesInput{
		InstanceIds: []string{i.id}, Force: aws.Bool(true), SkipOsShutdown: aws.Bool(true),
	}, switching)
	if err = c.explain(ctx, "stop", err); !errors.Is(err, device.ErrConflict) {
		return err
	}
	// The refusal may mean that it is off, or on a way to off that nobody can shorten. That
	// is read, and not assumed.
	switch _, state, derr := c.describe(ctx); {
	case derr != nil:
	case powers[state] == device.Off, state == types.InstanceStateNameShuttingDown:
		return nil
	}
	return err
}

// On starts the instance, unless that would continue what ran on it.
func (i *instance) On(ctx context.Context) error {
	c, err := i.connect(ctx)
	if err != nil {
		return err
	}
	switch now, err := c.whole(ctx); {
	case err != nil:
		return err
	case gone(now.State.Name):
		return c.terminated()
	case hibernated(now):
		return c.sleeps()
	}
	_, err = c.api.StartInstances(ctx, &sdk.StartInstancesInput{InstanceIds: []string{i.id}}, switching)
	if err = c.explain(ctx, "start", err); !errors.Is(err, device.ErrConflict) {
		return err
	}
	switch _, state, derr := c.describe(ctx); {
	case derr != nil:
	case state == types.InstanceStateNameRunning, state == types.InstanceStateNamePending:
		return nil
	case gone(state):
		return c.terminated()
	case state == types.InstanceStateNameStopping:
		return fmt.Errorf("%w: instance %s is still stopping, and can be started when it is stopped", device.ErrConflict, i.id)
	}
	return err
}

// gone: nothing can start the instance again.
func gone(state types.InstanceStateName) bool {
	return state == types.InstanceStateNameTerminated || state == types.InstanceStateNameShuttingDown
}

func (c *connection) terminated() error {
	return fmt.Errorf("%w: instance %s is terminated and can't be started again; delete the Node, and let another instance take its place", device.ErrUnknown, c.id)
}

// describe reads the instance's ID, as the API has it, and its state.
func (c *connection) describe(ctx context.Context) (string, types.InstanceStateName, error) {
	i, err := c.whole(ctx)
	if err != nil {
		return "", "", err
	}
	return line(*i.InstanceId), i.State.Name, nil
}

// whole reads everything that the API tells of the one instance.
func (c *connection) whole(ctx context.Context) (types.Instance, error) {
	out, err := c.api.DescribeInstances(ctx, &sdk.DescribeInstancesInput{InstanceIds: []string{c.id}})
	if err != nil {
		return types.Instance{}, c.explain(ctx, "describe", err)
	}
	var all []types.Instance
	for _, r := range out.Reservations {
		all = append(all, r.Instances...)
	}
	if len(all) != 1 {
		return types.Instance{}, fmt.Errorf("%w: asked for instance %s, the API tells of %d instances", device.ErrUnknown, c.id, len(all))
	}
	if all[0].InstanceId == nil || all[0].State == nil {
		return types.Instance{}, fmt.Errorf("%w: the API tells neither ID nor state of instance %s", device.ErrUnreachable, c.id)
	}
	return all[0], nil
}
