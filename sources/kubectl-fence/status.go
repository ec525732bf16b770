package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

func (p *program) statusCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every node under a policy, one line each",
		Long: `Show every node under a policy, one line each. STATE is the phase of its open fence; or Held, if
something is wrong with the node and it is not fenced; or LeftAlone, if nothing is wrong with it and
its policy never has it fenced; or Unfenced, if it is not Ready and its fence has ended, or has not
begun yet; or NotFenceable, if its devices could not fence it; or Missing, if its policy expects it and
it has no Node object; or Watched. REASON is explained by "kubectl fence why NODE".`,
		Example: `  kubectl fence status
  kubectl fence status -w
  kubectl fence status -o wide`,
		Args: noNode("kubectl fence why"),
	}
	o := outputFlag(cmd, "wide", "json", "yaml", "name").headersFlag(cmd)
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "Go on, and print each line that changes, and each note that comes or goes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.ready(o)
		if err != nil {
			return err
		}
		s, err := c.Look(cmd.Context())
		if err != nil {
			return err
		}
		var was printed
		notes, rows := was.changed(&s)
		p.note(notes)
		if err := p.showRows(o, rows, s.Now); err != nil || !follow {
			return err
		}
		o.noHeaders = true
		return p.follow(cmd.Context(), c, func(s *view.Seen) error { return p.showChanged(o, s, &was) })
	}
	return cmd
}

func (p *program) showRows(o *output, rows []view.Row, now time.Time) error {
	if did, err := items(o, p.Out, rows); did {
		return err
	}
	if o.form == "name" {
		for _, r := range rows {
			fmt.Fprintln(p.Out, "node/"+r.Node)
		}
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.ErrOut, "no FencePolicy selects a node: kubectl fence init writes one")
		return nil
	}
	return o.table(p.Out, view.StatusTable(rows, now))
}

// printed are the notes and rows as they were printed last.
type printed struct {
	notes []string
	rows  map[string]view.Row
}

// changed are the notes that are new or gone, and the rows that are not as they were printed. They count as
// printed from then on.
func (w *printed) changed(s *view.Seen) (notes []string, rows []view.Row) {
	now := s.Notes()
	for _, n := range w.notes {
		same := func(is string) bool { return unnumbered(is) == unnumbered(n) }
		if !slices.ContainsFunc(now, same) {
			notes = append(notes, "no longer: "+n)
		}
	}
	for _, n := range now {
		same := func(was string) bool { return view.WithoutAges(was) == view.WithoutAges(n) }
		if !slices.ContainsFunc(w.notes, same) {
			notes = append(notes, n)
		}
	}
	w.notes = now
	if w.rows == nil {
		w.rows = map[string]view.Row{}
	}
	for _, r := range s.Rows() {
		is, known := w.rows[r.Node]
		if !known || is.State != r.State || is.Reason != r.Reason || is.Ready != r.Ready || is.Message != r.Message {
			rows = append(rows, r)
		}
		w.rows[r.Node] = r
	}
	return notes, rows
}

// unnumbered is a note without its numbers and without who changed a brake, which change while what it is about goes on.
func unnumbered(note string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, view.WithoutWho(note))
}

// showChanged prints the notes that came or went, and the rows that are not as they were printed.
func (p *program) showChanged(o *output, s *view.Seen, was *printed) error {
	notes, rows := was.changed(s)
	p.note(notes)
	if len(rows) == 0 {
		return nil
	}
	return p.showRows(o, rows, s.Now)
}
