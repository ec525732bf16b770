package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/functions"
	"github.com/nodefence/nodefence/shared/run/emf"
	"github.com/nodefence/nodefence/shared/run/eventbridge"
	"github.com/nodefence/nodefence/shared/run/invoke"
	"github.com/nodefence/nodefence/shared/run/lambda"
	"github.com/nodefence/nodefence/shared/run/metrics"
)

// serveLambda serves until Lambda ends the process. It handles no signals: the next
// invocation continues what is under way at that time.
func serveLambda(ctx context.Context, s settings) error {
	f, err := newLambda(ctx, s)
	if err != nil {
		return err
	}
	lambda.Start(f)
	return nil
}

// newLambda reports every configuration fault before it accepts the first event.
func newLambda(ctx context.Context, s settings) (*lambda.Function, error) {
	if err := s.lacking(); err != nil {
		return nil, err
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
	s.Self = cmp.Or(s.Self, functions.NoNode) // Lambda runs on no node
	log := newLog()
	reg := metrics.NewRegistry()
	parts, err := connect(ctx, connectTimeout, s, cfg, log, reg)
	if err != nil {
		return nil, err
	}
	parts.Sender = bus
	if s.Direct != "" {
		c, err := invoke.New(aws, s.Direct)
		if err != nil {
			return nil, fmt.Errorf("read NODEFENCE_DIRECT: %w", err)
		}
		parts.Call = c.Call
	}
	served, err := functions.Serve(parts)
	if err != nil {
		return nil, err
	}
	f := lambda.New(served.Handle, bus, log)
	f.After(telling(s, parts, reg, log))
	f.Expects(s.InvocationTimeout())
	return f, nil
}

// lacking says which setting is missing, or can't be read.
func (s settings) lacking() error {
	if s.Bus == "" {
		return errors.New("NODEFENCE_BUS is not set: it is the EventBridge bus that replies go to")
	}
	if s.Metrics != "" && s.Metrics != "emf" {
		return fmt.Errorf("NODEFENCE_METRICS=%s: there is only emf, log lines in CloudWatch's embedded metric format", s.Metrics)
	}
	if s.EKS.Name == "" && s.Kubeconfig == "" {
		return errors.New("no cluster: set NODEFENCE_EKS_CLUSTER, NODEFENCE_EKS_ENDPOINT and NODEFENCE_EKS_CA, or KUBECONFIG")
	}
	return nil
}

// telling is what each invocation ends with: its metrics as log lines, where the settings ask for
// them, and its spans. Lambda lets the process stand still until the next invocation.
func telling(s settings, parts functions.Parts, reg prometheus.Gatherer, log *slog.Logger) func(context.Context) {
	written := emf.New(reg, os.Stdout, parts.Cluster)
	return func(ctx context.Context) {
		if s.Metrics != "" {
			if err := written.Write(); err != nil {
				log.Warn("metrics are not written", "error", err.Error())
			}
		}
		parts.Traces.Flush(ctx)
	}
}

// connectTimeout is less than the ten seconds that Lambda gives to a start: Lambda ends a
// process that takes longer, without saying why.
const connectTimeout = 7 * time.Second

// connect finds the cluster's name. Without NODEFENCE_CLUSTER it asks the API server.
func connect(ctx context.Context, limit time.Duration, s settings, cfg *rest.Config, log *slog.Logger, reg prometheus.Registerer) (functions.Parts, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	parts, err := functions.NewParts(ctx, s.Settings, cfg, log, reg)
	if ctx.Err() != nil && err != nil {
		return parts, fmt.Errorf("the API server at %s did not answer within %s: let this function reach it (SubnetIds and SecurityGroupIds, or the endpoint's public access), or set NODEFENCE_CLUSTER: %w", cfg.Host, limit, err)
	}
	return parts, err
}
