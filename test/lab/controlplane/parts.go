package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controllermanageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// These do what upstream's commands do, minus what can be done only once in a
// process: signal handlers, global flags, logging.

func runAPIServer(ctx context.Context, cfg Config) error {
	options := apiserveroptions.NewServerRunOptions()
	if err := parse(options.Flags(), cfg.APIServer); err != nil {
		return err
	}
	if cfg.ListenerFD != 0 {
		listener, err := inherit(cfg.ListenerFD)
		if err != nil {
			return err
		}
		options.SecureServing.Listener = listener
	}
	if err := options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := options.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return apiserver.Run(ctx, completed)
}

func runControllerManager(ctx context.Context, cfg Config) error {
	options, err := controllermanageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	all, off, aliases := controllermanager.KnownControllers(), controllermanager.ControllersDisabledByDefault(), controllermanager.ControllerAliases()
	flags := options.Flags(all, off, aliases)
	options.ParsedFlags = &flags
	if err := parse(flags, cfg.ControllerManager); err != nil {
		return err
	}
	config, err := options.Config(ctx, all, off, aliases)
	if err != nil {
		return err
	}
	return controllermanager.Run(ctx, config.Complete())
}

func runScheduler(ctx context.Context, cfg Config) error {
	options := scheduleroptions.NewOptions()
	if err := parse(*options.Flags, cfg.Scheduler); err != nil {
		return err
	}
	config, sched, err := scheduler.Setup(ctx, options)
	if err != nil {
		return err
	}
	return scheduler.Run(ctx, config, sched)
}

func parse(named cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parse flags: %w", err)
	}
	return nil
}

func inherit(fd uintptr) (net.Listener, error) {
	file := os.NewFile(fd, "listener")
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("inherit listener: %w", err)
	}
	// FileListener works on a duplicate.
	return listener, file.Close()
}
