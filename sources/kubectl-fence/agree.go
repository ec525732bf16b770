package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// acting are the flags of a command that changes something.
type acting struct {
	*program
	yes    bool
	dry    string
	reason string
	wait   time.Duration
	// again is the name of the node, given a second time; for what a slip must not do.
	again string
}

// actingFlags adds them. Where the name must be typed, there is no --yes.
func (p *program) actingFlags(cmd *cobra.Command, typed bool) *acting {
	a := &acting{program: p}
	f := cmd.Flags()
	f.StringVar(&a.dry, "dry-run", "none", `"none", "client" (only say what would be done) or "server" (have the API server check it, and change nothing)`)
	if typed {
		f.StringVar(&a.again, "confirm", "", "The node's name once more, instead of typing it when asked")
		return a
	}
	f.BoolVarP(&a.yes, "yes", "y", false, "Do not ask")
	return a
}

// reasonFlag adds --reason.
func (a *acting) reasonFlag(cmd *cobra.Command) *acting {
	cmd.Flags().StringVar(&a.reason, "reason", "", "Why, for those who read it later: at most 256 letters")
	return a
}

// why is the reason; one of blanks says nothing.
func (a *acting) why() string { return strings.TrimSpace(a.reason) }

// waitFlag adds --wait.
func (a *acting) waitFlag(cmd *cobra.Command) *acting {
	cmd.Flags().DurationVar(&a.wait, "wait", 30*time.Second, "How long to wait for nodefence's answer; 0s does not wait")
	return a
}

// person is who acts, and when. The time is that before the record is read and shown: what moves
// between that and the person's answer is not what they speak of (S3).
func (a *acting) person(ctx context.Context, c *cluster.Client) (act.Person, error) {
	who, err := c.Whoami(ctx)
	return act.Person{Name: who, At: metav1.NewTime(c.Now()).Rfc3339Copy(), Reason: a.why()}, err
}

// agree says what will be done, and asks. typed is what must be typed; empty asks for yes or no.
func (a *acting) agree(says, typed string) error {
	switch cluster.DryRun(a.dry) {
	case cluster.DryRunNone:
	case cluster.DryRunClient, cluster.DryRunServer:
		fmt.Fprint(a.ErrOut, says)
		return nil
	default:
		return fmt.Errorf("--dry-run %s: it takes none, client or server", a.dry)
	}
	fmt.Fprint(a.ErrOut, says)
	switch {
	case a.yes || typed != "" && nodeNamed(a.again) == typed:
		return nil
	case a.again != "":
		return fmt.Errorf("--confirm %s is not the node's name, %s: nothing was done", a.again, typed)
	case !a.terminal() && typed != "":
		return fmt.Errorf("nothing was done, because nobody can be asked here: add --confirm %s, or --dry-run=server to try it", typed)
	case !a.terminal():
		return errors.New("nothing was done, because nobody can be asked here: add --yes, or --dry-run=server to try it")
	}
	question, want := "Go on? (yes/no) ", "yes"
	if typed != "" {
		question, want = "Type the node's name to go on: ", typed
	}
	fmt.Fprint(a.ErrOut, question)
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.ErrOut)
		return errors.New("nothing was done, because it was interrupted")
	}
	if got := strings.TrimSpace(line); got != want && (typed != "" || got != "y") {
		return errors.Join(errors.New("nothing was done"), err)
	}
	return nil
}

// interruptible is a reader that reads no further once ctx is done: Ctrl-C at a question ends the program.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

// Read reads into a buffer of its own: what nobody waits for any more is read on.
func (r interruptible) Read(into []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	own, done := make([]byte, len(into)), make(chan result, 1)
	go func() {
		n, err := r.in.Read(own)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-done:
		return copy(into, own[:got.n]), got.err
	}
}

// change shows a change, asks, writes it, and says what became of it.
func (a *acting) change(ctx context.Context, c *cluster.Client, ch act.Change, typed string, anew func(context.Context) (act.Change, error)) error {
	if err := a.agree(ch.Words(), typed); err != nil {
		return err
	}
	dry := cluster.DryRun(a.dry)
	if dry != cluster.DryRunClient {
		if err := c.Carry(ctx, ch, dry, anew); err != nil {
			return err
		}
	}
	if dry != cluster.DryRunNone {
		fmt.Fprintf(a.Out, "%s (%s dry run)\n", ch.Done, dry)
		return nil
	}
	fmt.Fprintln(a.Out, ch.Done)
	return a.awaitAnswer(ctx, c, ch)
}

// awaitAnswer waits for what nodefence says to a request. A person's word that was taken up may still not
// be believed: there the answer that follows is waited for too.
func (a *acting) awaitAnswer(ctx context.Context, c *cluster.Client, ch act.Change) error {
	if ch.Asks == "" || a.wait <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	var taken *api.RequestAnswer
	for {
		f, err := c.Fence(ctx, ch.Name)
		if cluster.Absent(err) {
			fmt.Fprintf(a.ErrOut, "the record of node %s was deleted before nodefence answered\n", ch.Name)
			return nil
		}
		if err == nil {
			if r := f.Status.Answer(ch.Asks); r != nil && r.IsTo(ch.At) {
				if taken = r; ch.Asks != api.AskedConfirmOff || r.Result != api.Accepted {
					return a.tellAnswer(r)
				}
			}
		}
		if ctx.Err() != nil || a.sleep(ctx) != nil {
			if taken != nil {
				return a.tellAnswer(taken)
			}
			words := fmt.Sprintf("nodefence has not answered within %s", a.wait)
			if errors.Is(ctx.Err(), context.Canceled) {
				words = "interrupted before nodefence answered"
			}
			fmt.Fprintf(a.ErrOut, "%s: kubectl fence why %s\n", words, ch.Name)
			return nil
		}
	}
}

// between is the time between two looks.
const between = 500 * time.Millisecond

// sleep waits for the next look.
func (p *program) sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(between):
		return nil
	}
}

func (a *acting) tellAnswer(r *api.RequestAnswer) error {
	words := fmt.Sprintf("nodefence's answer: %s", r.Result)
	if r.Message != "" {
		words += ": " + view.OneLine(r.Message)
	}
	if r.Result == api.Refused {
		return errors.New(words)
	}
	fmt.Fprintln(a.Out, words)
	return nil
}
