package adopt

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a kind of objects of another project, by the word that the setting has for it.
type Kind string

const (
	// FAR is FenceAgentsRemediation, in the API group fence-agents-remediation.medik8s.io.
	FAR Kind = "far"
	// MHC is MachineHealthCheck, in the API group machine.openshift.io.
	MHC Kind = "mhc"
)

// known are the words that the setting may have.
func known() []Kind { return []Kind{FAR, MHC} }

// Kinds are those that are adopted, each once.
type Kinds []Kind

// Has says whether this kind is adopted.
func (k Kinds) Has(kind Kind) bool { return slices.Contains(k, kind) }

// String is the list as Parse reads it.
func (k Kinds) String() string {
	words := make([]string, len(k))
	for i, kind := range k {
		words[i] = string(kind)
	}
	return strings.Join(words, ",")
}

// Parse reads a list of words with commas between them, with or without blanks. An empty list
// adopts nothing. A word that names no kind, or that is there twice, is an error that names it.
func Parse(list string) (Kinds, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var all Kinds
	for word := range strings.SplitSeq(list, ",") {
		kind := Kind(strings.TrimSpace(word))
		switch {
		case kind == "":
			return nil, fmt.Errorf("%q: a word is missing beside a comma", list)
		case !slices.Contains(known(), kind):
			return nil, fmt.Errorf("%q is no kind of objects that can be adopted: write %s, with commas between them", string(kind), Kinds(known()).words())
		case all.Has(kind):
			return nil, fmt.Errorf("%q is there twice", string(kind))
		}
		all = append(all, kind)
	}
	return all, nil
}

// Decode reads them from the environment.
func (k *Kinds) Decode(list string) (err error) {
	*k, err = Parse(list)
	return err
}

// words are the kinds for a message.
func (k Kinds) words() string { return strings.ReplaceAll(k.String(), ",", " or ") }
