// Command soak runs nodefence on a lab for an hour or longer, while one fault comes after the
// other and several are under way at once. It checks that every fence ends, that no promise is
// broken which a lab can witness, and that nodefence-local does not grow.
//
// Two nodefence-local run, each with a data folder of its own: the source of one of them leads,
// and the other one stands by. The plan of faults follows from the seed alone (plan.go); a fault
// whose node is not well again when its time comes begins later.
//
// How growth is judged: a process that is killed starts small again. So the plan kills only in the
// first quarter of the run, and once more near its end. In the time between, which is two thirds
// of the run, nobody is killed. After a fifth of it as warm-up, the median of the last fifth of
// the rest is compared with the median of its first fifth. The figures of both processes are
// added, because the lead may pass from one to the other.
//
// The first breach ends the run. The data folders, logs and records are kept then.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// startLimit bounds the start of the lab and of everything in it.
const startLimit = 15 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		os.Exit(1)
	}
}

// soak reads the settings, runs the lab, and ends it whatever happens.
func soak(ctx context.Context) (err error) {
	s, err := settingsOf(os.Environ())
	if err != nil {
		return err
	}
	fmt.Printf("soak: %d nodes for %s, SOAK_SEED=%d; at most %d nodes fail at once, %d are fenced at once\n",
		s.nodes, s.length, s.seed, s.most, s.concurrent)
	dir, err := os.MkdirTemp("", "nodefence-soak")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit+s.length+2*s.settle)
	defer cancel()
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
		} else {
			err = fmt.Errorf("%w\nlogs and records are kept in %s", err, dir)
		}
	}()
	lab, err := rig.Up(ctx, rig.LabOptions{Name: fmt.Sprintf("soak-%d", os.Getpid()), Nodes: s.nodes, Flags: s.labFlags(), Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Down()) }()
	r, err := furnish(ctx, lab, s, dir)
	if err != nil {
		return err
	}
	err = r.run(ctx)
	r.pair.stop()
	return errors.Join(err, judgeRun(lab, dir))
}

// judgeRun prints the verdict on the lab's history, and keeps its logs if a promise was broken.
func judgeRun(lab *rig.Lab, dir string) error {
	v, err := lab.Judge()
	if err != nil {
		return err
	}
	fmt.Print(v)
	if v.Err() == nil {
		return nil
	}
	return errors.Join(v.Err(), lab.KeepRecords(filepath.Join(dir, "history")))
}

// furnish installs nodefence in the lab, and starts what is observed and what observes.
func furnish(ctx context.Context, lab *rig.Lab, s settings, dir string) (*run, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, err := rig.Connect(lab)
	if err != nil {
		return nil, err
	}
	plane, err := controlPlaneOf(lab)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.Furnish(ctx, s.policy()), c.Apply(ctx, s.work())); err != nil {
		return nil, err
	}
	if err := podsRun(ctx, c, s.pods()); err != nil {
		return nil, err
	}
	p, err := startPair(ctx, c, dir)
	if err != nil {
		return nil, err
	}
	return newRun(c, s, dir, plane, p), nil
}

// podsRun waits until each pod of the StatefulSet runs.
func podsRun(ctx context.Context, c *rig.Cluster, pods int) error {
	for i := range pods {
		name := fmt.Sprintf("db-%d", i)
		if _, err := c.PodRunning(ctx, name, ""); err != nil {
			return fmt.Errorf("pod %s was to run again: %w", name, err)
		}
	}
	return nil
}
