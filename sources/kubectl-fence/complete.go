package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// complete offers the names that list returns and that begin as the word does, for the first
// argument alone.
func (p *program) complete(list func(context.Context, *cluster.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.offer(cmd.Context(), word, list)
	}
}

// offer are the names that list returns and that begin as the word does.
func (p *program) offer(ctx context.Context, word string, list func(context.Context, *cluster.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	c, err := p.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := list(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return begin(all, word), cobra.ShellCompDirectiveNoFileComp
}

// begin are the names that begin as the word does.
func begin(all []string, word string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, word) })
}

// contexts completes --context.
func (p *program) contexts(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	raw, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return begin(slices.Sorted(maps.Keys(raw.Contexts)), word), cobra.ShellCompDirectiveNoFileComp
}

// namespaces completes -n.
func (p *program) namespaces(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return p.offer(cmd.Context(), word, func(ctx context.Context, c *cluster.Client) ([]string, error) { return c.NamespaceNames(ctx) })
}

// nodes completes the name of a node.
func (p *program) nodes() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) { return c.NodeNames(ctx) })
}

// fenced completes the name of a node with an open fence.
func (p *program) fenced() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) {
		all, err := c.Fences(ctx)
		var out []string
		for i := range all {
			if all[i].Open() {
				out = append(out, all[i].Name)
			}
		}
		return out, err
	})
}

// policies completes the name of a policy.
func (p *program) policies() cobra.CompletionFunc {
	return p.complete(func(ctx context.Context, c *cluster.Client) ([]string, error) {
		all, err := c.Policies(ctx)
		var out []string
		for i := range all {
			out = append(out, all[i].Name)
		}
		return out, err
	})
}
