package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) whyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why NODE",
		Short: "Say why a node is fenced or not, and what you can do",
		Long: `Say in three sentences what holds a node or its fence, by which rule and numbers, and when
nodefence looks at it next; and then what you can do.`,
		Example:           `  kubectl fence why worker-7`,
		Args:              oneName("node"),
		ValidArgsFunction: p.nodes(),
	}
	o := outputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.ready(o)
		if err != nil {
			return err
		}
		s, err := c.Look(cmd.Context())
		if err != nil {
			return err
		}
		s.Events, err = c.NodeEvents(cmd.Context(), nodeNamed(args[0]))
		if err != nil { // who may not read them learns the rest
			fmt.Fprintln(p.ErrOut, "the Events of the Node were not read, which say whether nodefence can write its record:", err)
		}
		a, err := s.Why(nodeNamed(args[0]))
		if err != nil {
			return err
		}
		if did, err := o.value(p.Out, a); did {
			return err
		}
		p.note(s.Notes())
		_, err = fmt.Fprint(p.Out, a.Words())
		return err
	}
	return cmd
}
