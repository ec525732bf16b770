package broker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	sigsjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"
)

// Load reads the Triggers of a file, the same file that is applied to a cluster.
func Load(path string) ([]Trigger, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read triggers: %w", err)
	}
	return Parse(path, data)
}

// Parse is like Load, for data that was read from file. Its error lists every fault, one on
// each line: file, line, field, fault.
func Parse(file string, data []byte) ([]Trigger, error) { return parseFile(file, data, false) }

// ParseOutward is like Parse, for Triggers whose subscribers are outside of this process: each has a URI.
func ParseOutward(file string, data []byte) ([]Trigger, error) { return parseFile(file, data, true) }

func parseFile(file string, data []byte, outward bool) ([]Trigger, error) {
	var found []*problem
	var triggers []Trigger
	names, broker := map[string]int{}, ""
	for _, d := range split(file, data) {
		if d.read(); d.object == nil {
			found = append(found, d.found...)
			continue
		}
		o := d.object
		if first, ok := names[o.Namespace+"/"+o.Name]; ok && o.Name != "" {
			d.add("metadata.name", fmt.Sprintf("%q is defined at line %d already", o.Name, first))
		} else {
			names[o.Namespace+"/"+o.Name] = d.line("metadata.name")
		}
		broker = cmp.Or(broker, o.Spec.Broker)
		if o.Spec.Broker != "" && o.Spec.Broker != broker {
			d.add("spec.broker", fmt.Sprintf("%q, but the first Trigger names %q", o.Spec.Broker, broker))
		}
		triggers = append(triggers, d.trigger(outward))
		found = append(found, d.found...)
	}
	if len(found) == 0 && len(triggers) == 0 {
		found = append(found, &problem{position{file, 1}, "kind", "no Trigger in the file"})
	}
	if len(found) > 0 {
		return nil, joined(found)
	}
	return triggers, nil
}

// position is a place in a file, in the notation of editors and compilers.
type position struct {
	file string
	line int
}

type problem struct {
	position
	field, text string
}

func (p *problem) Error() string {
	if p.field == "" {
		return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.file, p.line, p.field, p.text)
}

func joined(found []*problem) error {
	slices.SortStableFunc(found, func(a, b *problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.field, b.field))
	})
	var errs []error
	for _, p := range found {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// document is one object of a file, with the faults found in it.
type document struct {
	file   string
	before int // lines of the file before this document
	text   []byte
	root   *yaml.Node
	object *eventingv1.Trigger
	found  []*problem
}

func (d *document) add(field, text string) {
	d.found = append(d.found, &problem{position{d.file, d.line(field)}, field, oneLine(text)})
}

// read decodes as kubectl does. It leaves object nil if it can't decode, or if the document
// is empty.
func (d *document) read() {
	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil {
		d.addSyntax(err)
		return
	}
	if len(root.Content) == 0 {
		return
	}
	d.root = root.Content[0]
	asJSON, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		d.addSyntax(err)
		return
	}
	if bytes.Equal(asJSON, []byte("null")) {
		return
	}
	var o eventingv1.Trigger
	unknown, err := sigsjson.UnmarshalStrict(asJSON, &o)
	if err != nil {
		d.addDecode(err)
		return
	}
	if o.APIVersion != "eventing.knative.dev/v1" || o.Kind != "Trigger" {
		d.add("kind", fmt.Sprintf("%s %s is not a Trigger of eventing.knative.dev/v1", o.APIVersion, o.Kind))
		return
	}
	for _, err := range unknown {
		var f sigsjson.FieldError
		if errors.As(err, &f) {
			d.add(f.FieldPath(), "unknown field")
			continue
		}
		d.add("", err.Error())
	}
	d.object = &o
}

func (d *document) addDecode(err error) {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		d.add(wrongType.Field, fmt.Sprintf("is a %s, want %s", wrongType.Value, wrongType.Type))
		return
	}
	d.add("", err.Error())
}

// trigger checks everything but the syntax. The filters are taken out before Knative's own
// check, which gives a wrong index for every member of a list but the last.
func (d *document) trigger(outward bool) Trigger {
	if d.object.Name == "" {
		d.add("metadata.name", "missing")
	}
	s := d.object.Spec
	bare := d.object.DeepCopy()
	bare.Spec.Filters = nil
	d.addAll("", bare.Validate(quietContext))
	t := Trigger{
		Name:       d.object.Name,
		Retries:    retries(s.Delivery),
		backoff:    backoff(s.Delivery),
		pass:       d.filters(s),
		subscriber: position{d.file, d.line("spec.subscriber.ref.name")},
	}
	switch {
	case s.Subscriber.Ref == nil && s.Subscriber.URI == nil: // Validate has found that
	case outward:
		t.URI, t.subscriber.line = d.address(s), d.line("spec.subscriber.uri")
	default:
		t.Function = d.function(s)
	}
	return t
}
