package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/eventbridge"
	"github.com/nodefence/nodefence/shared/run/sink"
)

// sender returns where events are sent: a sink or a bus. With both, every event would be
// sent twice.
func (s settings) sender(ctx context.Context) (run.Sender, error) {
	switch {
	case s.Sink != "" && s.Bus != "":
		return nil, errors.New("both K_SINK and NODEFENCE_BUS are set: events go to one of them")
	case s.Sink != "":
		return sink.New(s.Options)
	case s.Bus == "":
		return nil, errors.New("neither K_SINK nor NODEFENCE_BUS is set: K_SINK is the URL that events are posted to, such as a Broker's, NODEFENCE_BUS an EventBridge bus")
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	bus, err := eventbridge.New(cfg, s.Bus)
	if err != nil {
		return nil, fmt.Errorf("use NODEFENCE_BUS: %w", err)
	}
	return bus, nil
}
