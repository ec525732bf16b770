package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// output is the flag -o.
type output struct {
	form      string
	noHeaders bool
	allowed   []string
	// columns remembers the widths of the columns between two tables.
	columns interface {
		io.Writer
		Flush() error
	}
}

// outputFlag adds -o with these forms besides the default one.
func outputFlag(cmd *cobra.Command, forms ...string) *output {
	o := &output{allowed: forms}
	cmd.Flags().StringVarP(&o.form, "output", "o", "", fmt.Sprintf("Output format, one of %v", forms))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return o
}

// headersFlag adds --no-headers.
func (o *output) headersFlag(cmd *cobra.Command) *output {
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Print no column names")
	return o
}

// check refuses a form that the command does not have.
func (o *output) check() error {
	for _, f := range o.allowed {
		if o.form == f || o.form == "" {
			return nil
		}
	}
	return fmt.Errorf("-o %s: it takes one of %v", o.form, o.allowed)
}

// items prints all as a list under -o json and yaml, and reports whether it did. Where there is none, the list
// is empty.
func items[T any](o *output, out io.Writer, all []T) (bool, error) {
	return o.value(out, map[string]any{"items": append([]T{}, all...)})
}

// value prints one value under -o json and yaml, and reports whether it did.
func (o *output) value(out io.Writer, what any) (bool, error) {
	switch o.form {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "    ")
		return true, enc.Encode(what)
	case "yaml":
		text, err := yaml.Marshal(what)
		if err == nil {
			_, err = out.Write(text)
		}
		return true, err
	}
	return false, nil
}

// table prints a table as kubectl does.
func (o *output) table(out io.Writer, t *metav1.Table) error {
	if o.columns == nil {
		o.columns = printers.GetNewTabWriter(out)
	}
	if err := printers.NewTablePrinter(printers.PrintOptions{Wide: o.form == "wide", NoHeaders: o.noHeaders}).PrintObj(t, o.columns); err != nil {
		return err
	}
	return o.columns.Flush()
}
