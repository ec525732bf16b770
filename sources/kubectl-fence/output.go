package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// output is the flag -o.
type output struct {
	form      string
	noHeaders bool
	// allowed are the forms that stand alone, and template is one that has a template of the person's.
	allowed  []string
	template printers.ResourcePrinter
	// further: the next document in YAML is not the first.
	further bool
	// columns remembers the widths of the columns between two tables.
	columns interface {
		io.Writer
		Flush() error
	}
}

// outputFlag adds -o with these forms besides the default one, and with kubectl's templates for what json prints.
func outputFlag(cmd *cobra.Command, forms ...string) *output {
	o := &output{allowed: forms}
	cmd.Flags().StringVarP(&o.form, "output", "o", "", "Output format, "+o.forms())
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	return o
}

// headersFlag adds --no-headers.
func (o *output) headersFlag(cmd *cobra.Command) *output {
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "Print no column names")
	return o
}

func (o *output) forms() string {
	return fmt.Sprintf("one of %v, or jsonpath=TEMPLATE or go-template=TEMPLATE of what json prints", o.allowed)
}

// check refuses a form that the command does not have, and a template that can't be read.
func (o *output) check() (err error) {
	if o.form == "" || slices.Contains(o.allowed, o.form) {
		return nil
	}
	o.template, err = genericclioptions.NewKubeTemplatePrintFlags().ToPrinter(o.form)
	switch {
	case genericclioptions.IsNoCompatiblePrinterError(err):
		return fmt.Errorf("-o %s: it takes %s", o.form, o.forms())
	case err != nil:
		return fmt.Errorf("-o %s: %w", o.form, err)
	}
	return nil
}

// items prints all as a list under -o json, yaml and templates, and reports whether it did. Where there is none,
// the list is empty.
func items[T any](o *output, out io.Writer, all []T) (bool, error) {
	return o.value(out, map[string]any{"items": append([]T{}, all...)})
}

// value prints one value under -o json, yaml and templates, and reports whether it did.
func (o *output) value(out io.Writer, what any) (bool, error) {
	if o.template != nil {
		return true, o.templated(out, what)
	}
	switch o.form {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "    ")
		return true, enc.Encode(what)
	case "yaml":
		text, err := yaml.Marshal(what)
		if o.further {
			text = append([]byte("---\n"), text...)
		}
		o.further = true
		if err == nil {
			_, err = out.Write(text)
		}
		return true, err
	}
	return false, nil
}

// templated prints one value by the person's template.
func (o *output) templated(out io.Writer, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return err
	}
	return o.template.PrintObj(&object, out)
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

func (p *program) note(notes []string) {
	for _, n := range notes {
		fmt.Fprintf(p.ErrOut, "note: %s\n", view.OneLine(n))
	}
}

// ready connects, once the form of the output is one that the command has.
func (p *program) ready(o *output) (*cluster.Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return p.client()
}
