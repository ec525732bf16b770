package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run/eventbridge"
	"github.com/nodefence/nodefence/shared/run/lambda"
)

// serveLambda serves until Lambda ends the process. It handles no signals: what
// is under way when they come is finished by the invocation that follows.
func serveLambda(ctx context.Context, s settings) error {
	f, err := newLambda(ctx, s)
	if err != nil {
		return err
	}
	lambda.Start(f)
	return nil
}

// newLambda says whatever is wrong before the first event is asked for.
func newLambda(ctx context.Context, s settings) (*lambda.Function, error) {
	if s.Bus == "" {
		return nil, errors.New("NODEFENCE_BUS is not set: it is the EventBridge bus that replies go to")
	}
	if s.EKS.Name == "" && s.Kubeconfig == "" {
		return nil, errors.New("no cluster: set NODEFENCE_EKS_CLUSTER, NODEFENCE_EKS_ENDPOINT and NODEFENCE_EKS_CA, or KUBECONFIG")
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	bus, err := eventbridge.New(aws, s.Bus)
	if err != nil {
		return nil, err
	}
	cfg, err := s.EKS.Or(ctx, s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	log := newLog()
	parts, err := functions.NewParts(ctx, s.Settings, cfg, log, prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	parts.Sender = bus
	h, err := functions.Handler(parts)
	if err != nil {
		return nil, err
	}
	return lambda.New(h, bus, log), nil
}
