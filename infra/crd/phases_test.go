package crd_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodefence/nodefence/infra/crd/trusted"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/golden"
)

// owners are the functions that own phases, as accounts.yaml lists them.
var owners = []string{"gate", "isolate", "power", "cleanup", "recover"}

var (
	phasesOfAccounts = regexp.MustCompile(`(- name: phases\n      expression: )"[^"]*"`)
	phasesInWords    = regexp.MustCompile(`(in the phases of its own function: )[^;]*;`)
)

// TestGeneratedOwners: accounts.yaml lets each account write the status of a NodeFence in the phases of its own
// function. gate writes the status of a record that is not open, too.
func TestGeneratedOwners(t *testing.T) {
	text, err := os.ReadFile("accounts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var lists, words []string
	for _, owner := range owners {
		var names []string
		for _, p := range api.PhasesOf(owner) {
			names = append(names, string(p))
		}
		quoted := "'" + strings.Join(names, "', '") + "'"
		if owner == "gate" {
			names, quoted = append(names, string(api.Finished)), "'', "+quoted+", '"+string(api.Finished)+"'"
		}
		lists, words = append(lists, "'"+owner+"': ["+quoted+"]"), append(words, owner+" in "+together(names))
	}
	out := phasesOfAccounts.ReplaceAllString(string(text), `${1}"{`+strings.Join(lists, ", ")+`}"`)
	out = phasesInWords.ReplaceAllString(out, "${1}"+strings.Join(words, ", ")+";")
	if phasesOfAccounts.FindString(out) == "" || phasesInWords.FindString(out) == "" {
		t.Error("accounts.yaml does not say which account writes in which phase")
	}
	golden.File(t, "accounts.yaml", out)
}

// TestEachPhaseIsTried: trusted.yaml writes the status of a NodeFence in each phase, which the owner alone may.
func TestEachPhaseIsTried(t *testing.T) {
	rows, err := trusted.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range api.Phases {
		name, owner := "in-"+strings.ToLower(string(p)), p.Owner()
		if p == api.Finished {
			owner = "gate"
		}
		if !slices.Contains(owners, owner) {
			t.Errorf("%s belongs to %q, which accounts.yaml does not list", p, owner)
		}
		tried := slices.ContainsFunc(rows, func(r trusted.Row) bool {
			return slices.Contains(r.Names, name) && slices.Equal(r.By, []string{owner}) && strings.Contains(r.Field, "status in ")
		})
		if !tried {
			t.Errorf("trusted.yaml has no row in which %s alone writes the status of %s", owner, name)
		}
	}
}

// together writes names as in a sentence: "a, b and c".
func together(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
