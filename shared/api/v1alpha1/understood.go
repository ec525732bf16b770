package v1alpha1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/nodefence/nodefence/shared/clip"
)

// A field that this program does not know may be a brake of a newer version. A value that it does
// not know, or one that is missing where there must be one, may be a brake that got lost. So the
// objects by which people decide are read strictly: every reader notes beside the object what it
// does not understand, and that holds fences (see package fence).

// NotUnderstood is what of an object this program does not understand. It is never
// written; the zero value is an object that was understood.
type NotUnderstood struct {
	// Unknown are the fields, and the values, that are not known, by path.
	// +listType=atomic
	Unknown []string `json:"-"`
	// Wrong are the fields that can't be read, or are missing, each with why.
	// +listType=atomic
	Wrong []string `json:"-"`
	// Everywhere says that it may be about any node, and not only about those that the selector
	// chooses.
	Everywhere bool `json:"-"`
}

// Any tells whether there is something.
func (n *NotUnderstood) Any() bool { return len(n.Unknown)+len(n.Wrong) > 0 }

// Words say what an object has that is not understood, and what to do; empty if nothing.
func (n *NotUnderstood) Words(object string) string {
	var says []string
	if len(n.Unknown) > 0 {
		it := "the field"
		if len(n.Unknown) > 1 {
			it = "the fields"
		}
		says = append(says, "has "+firstOf(n.Unknown)+", which this nodefence does not know: upgrade nodefence, or take "+it+" out")
	}
	if len(n.Wrong) > 0 {
		says = append(says, "has "+firstOf(n.Wrong)+": correct that")
	}
	if len(says) == 0 {
		return ""
	}
	return object + " " + strings.Join(says, "; it ")
}

// firstOf names a few, and says how many more there are.
func firstOf(all []string) string {
	const few = 3
	if more := len(all) - few; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), more)
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return all[0]
}

// readAnyway replaces a selector that can't be read by one that chooses every node: it never
// assumes that a policy chooses fewer nodes. A selector that is not there stays missing, because
// a program that reads a policy and writes it again must not write what nobody said.
func (p *FencePolicy) readAnyway() {
	if p.NotUnderstood.In("spec.selector") && p.Spec.Selector != nil {
		p.Spec.Selector = &LabelSelector{}
	}
}

// aboutOthers are the fields of a policy that may be about nodes that its selector does
// not choose: members of etcd, and nodes that have no Node object to be chosen by.
var aboutOthers = []string{"spec.selector", "spec.controlPlane", "spec.missingNodes", "spec.machines", "status.missing", "status.failedMachines"}

// UnmarshalJSON reads a policy, and notes what of it is not understood: no policy keeps
// the others from being read.
func (p *FencePolicy) UnmarshalJSON(raw []byte) error {
	o, of, err := readObject(raw)
	if err != nil {
		return err
	}
	*p = FencePolicy{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta}
	n := &p.NotUnderstood
	n.spec(of.Spec, reflect.ValueOf(&p.Spec), "selector", "mode", "action")
	n.status(of.Status, &p.Status, "missing", "failedMachines")
	if n.Any() {
		n.Everywhere = n.In(aboutOthers...)
		p.readAnyway()
	}
	return nil
}

// UnmarshalJSON is as that of a policy.
func (b *FenceBudget) UnmarshalJSON(raw []byte) error {
	o, of, err := readObject(raw)
	if err != nil {
		return err
	}
	*b = FenceBudget{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta}
	n := &b.NotUnderstood
	n.spec(of.Spec, reflect.ValueOf(&b.Spec), "selector")
	n.status(of.Status, &b.Status)
	if n.Everywhere = n.In("spec.selector"); n.Everywhere {
		b.Spec.Selector = &LabelSelector{}
	}
	return nil
}

// UnmarshalJSON is as that of a FencePolicy. One that is not understood asks for nothing: what is not known may
// narrow a rule.
func (p *NodeProblemPolicy) UnmarshalJSON(raw []byte) error {
	o, of, err := readObject(raw)
	if err != nil {
		return err
	}
	*p = NodeProblemPolicy{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta}
	n := &p.NotUnderstood
	n.spec(of.Spec, reflect.ValueOf(&p.Spec), "selector", "rules")
	n.Everywhere = n.In("spec.selector")
	return nil
}

// UnmarshalJSON is as that of a policy, and reads the status strictly too: what a newer
// program keeps there would be lost with the next reservation of this one.
func (l *FenceLedger) UnmarshalJSON(raw []byte) error {
	o, of, err := readObject(raw)
	if err != nil {
		return err
	}
	*l = FenceLedger{TypeMeta: o.TypeMeta, ObjectMeta: o.ObjectMeta}
	if len(of.Spec) > 0 {
		l.NotUnderstood.spec(of.Spec, reflect.ValueOf(&l.Spec))
	}
	if len(of.Status) > 0 {
		l.NotUnderstood.fields("status", of.Status, reflect.ValueOf(&l.Status).Elem())
	}
	return nil
}

// parts are the two parts of an object, not yet read.
type parts struct {
	// spec is what a person decides.
	// +required
	Spec json.RawMessage `json:"spec"`
	// status is what nodefence found and did.
	// +required
	Status json.RawMessage `json:"status"`
}

func readObject(raw []byte) (o metav1.PartialObjectMetadata, p parts, err error) {
	if err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &o); err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &p)
	}
	return o, p, err
}

// In tells whether something under one of these paths is not understood.
func (n *NotUnderstood) In(paths ...string) bool {
	return slices.ContainsFunc(slices.Concat(n.Unknown, n.Wrong), func(what string) bool {
		what = strings.TrimPrefix(what, "no ")
		return what == "spec" || strings.HasPrefix(what, "spec, ") || slices.ContainsFunc(paths, func(path string) bool {
			rest, is := strings.CutPrefix(what, path)
			return is && (rest == "" || strings.ContainsAny(rest[:1], ".[ ,:"))
		})
	})
}

// status is ours, and may be written by a newer program: only what can't be read at all counts,
// and, in the fields that decisions rest on, also what is not known.
func (n *NotUnderstood) status(raw []byte, into any, decided ...string) {
	if len(raw) == 0 {
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
		n.wrong("status", err)
		return
	}
	var given map[string]json.RawMessage
	_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &given) // it was read above
	of := reflect.TypeOf(into).Elem()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if one, is := given[name]; is && slices.Contains(decided, name) {
			n.field("status."+name, one, reflect.New(of.Field(i).Type).Elem())
		}
	}
}

// spec reads one that must have these fields.
func (n *NotUnderstood) spec(raw []byte, into reflect.Value, required ...string) {
	given := n.fields("spec", raw, into.Elem())
	for _, name := range required {
		if _, is := given[name]; !is {
			n.Wrong = append(n.Wrong, "no spec."+name)
		}
	}
}

// fields reads an object field by field, so that the others are read even if one can't be read.
// That one is left out.
func (n *NotUnderstood) fields(at string, raw []byte, into reflect.Value) (given map[string]json.RawMessage) {
	if len(raw) == 0 {
		return nil
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &given); err != nil {
		n.wrong(at, err)
		return nil
	}
	known := map[string]bool{}
	for i := range into.NumField() {
		name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ",")
		known[name] = true
		if one, is := given[name]; is {
			n.field(at+"."+name, one, into.Field(i))
		}
	}
	for name := range given {
		if !known[name] {
			n.Unknown = append(n.Unknown, shortPath(at+"."+name))
		}
	}
	slices.Sort(n.Unknown)
	return given
}

func (n *NotUnderstood) field(at string, raw []byte, into reflect.Value) {
	strict, err := kjson.UnmarshalStrict(raw, into.Addr().Interface(), kjson.DisallowUnknownFields)
	if err != nil {
		n.wrong(at, err)
		into.SetZero()
		return
	}
	for _, e := range strict {
		path := ""
		if f, is := e.(kjson.FieldError); is {
			path = f.FieldPath()
		}
		n.Unknown = append(n.Unknown, shortPath(under(at, path)))
	}
	if strings.HasPrefix(at, "spec") && !n.values(at, into) {
		into.SetZero()
	}
}

func under(at, path string) string {
	if strings.HasPrefix(path, "[") {
		return at + path
	}
	return at + "." + path
}

// wrong notes a field that can't be read.
func (n *NotUnderstood) wrong(at string, err error) {
	n.Wrong = append(n.Wrong, at+", which can't be read ("+shortPath(strings.TrimPrefix(err.Error(), "json: "))+")")
}

// shortPath bounds what somebody else has written.
func shortPath(s string) string { return clip.To(120, s) }

// isDuration is the schema's pattern, for objects that the schema did not check.
var isDuration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s)){1,3}$`)

// values tells whether all values within a field are known ones; a duration is one that
// can be read.
func (n *NotUnderstood) values(at string, v reflect.Value) (ok bool) {
	ok = true
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || n.values(at, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			ok = n.values(fmt.Sprintf("%s[%d]", at, i), v.Index(i)) && ok
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			left := v.Field(i).IsZero() && strings.Contains(opts, "omit")
			if _, is := known[f.Type]; is && name == "type" {
				left = false // it says which of the other fields counts
			}
			if f.IsExported() && !left {
				ok = n.values(at+"."+name, v.Field(i)) && ok
			}
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[Duration]() && !isDuration.MatchString(v.String()) {
			n.Wrong = append(n.Wrong, fmt.Sprintf("%s %q, which is no duration", at, shortPath(v.String())))
			return false
		}
		if all, is := known[v.Type()]; is && !slices.Contains(all, v.String()) {
			n.Unknown = append(n.Unknown, fmt.Sprintf("%s %q", at, shortPath(v.String())))
			return false
		}
	}
	return ok
}
