package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/nodefence/nodefence/events"
)

// others are programs of others that these tests do not run, and why. The files that they are given
// are looked for, and the events that they send are read.
var others = map[string]string{
	"aws":     "needs an account of AWS",
	"sam":     "needs an account of AWS; its parameters are held to the template here",
	"helm":    "test/e2e/knative installs the chart",
	"kn":      "needs Knative's own client; its event is read here",
	"curl":    "its event is read here, and test/e2e sends it",
	"ko":      "needs a registry; make release runs it",
	"docker":  "needs a container runtime",
	"ctr":     "infra/release/images imports the archives by it",
	"skopeo":  "needs a registry",
	"func":    "needs a container runtime; the folder's func.yaml is compiled in test/e2e/knative",
	"unzip":   "unpacks what make release makes",
	"jq":      "reads what kubectl says; test/e2e runs it",
	"date":    "is everywhere",
	"uuidgen": "makes a name",
	"bash":    "is the trial: TestTheTrial of test/e2e runs it whole",
}

// held says who runs a program of nodefence's, or kubectl.
var held = map[string]bool{
	"kubectl":         true,                                                                           // test/e2e; as kubectl fence: sources/kubectl-fence
	"kubectl-fence":   true,                                                                           // sources/kubectl-fence
	"nodefence-local": true, "nodefence-source": true, "nodefence-kdump": true, "nodefence-lab": true, // TestPrograms of test/e2e
}

// TestEveryCommandExists: a shell takes each block as it stands; each program is known, each file and
// target is there, and each event is one that nodefence takes.
func TestEveryCommandExists(t *testing.T) {
	found := Started(all(t))
	if len(found) == 0 {
		t.Error("no unit of systemd starts anything: they are not found any more")
	}
	for page, blocks := range Shells(all(t)) {
		commands, err := Commands(t.Context(), blocks)
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		found = append(found, commands...)
	}
	for _, c := range found {
		if err := check(t, c); err != nil {
			t.Errorf("%s: %s: %v", c.Block.At(), c, err)
		}
	}
	if len(found) < 120 {
		t.Errorf("only %d commands were found", len(found))
	}
}

func check(t *testing.T, c Command) error {
	t.Helper()
	err := there(c)
	switch name := c.Args[0]; {
	case name == "make":
		return errors.Join(err, makes(c.Args[1:]))
	case name == "go":
		return errors.Join(err, goes(t, c.Args[1:]))
	case name == "sam":
		return errors.Join(err, deploys(c.Args[1:]))
	case name == "curl", name == "kn", name == "aws" && slices.Contains([]string{"events", "lambda"}, c.Args[1]):
		return errors.Join(err, sends(c.Args))
	case others[name] != "", held[name]:
		return err
	default:
		return fmt.Errorf("no test knows %s: correct it, or add it to test/pages/commands_test.go with what holds it", name)
	}
}

var (
	inTree   = regexp.MustCompile(`^(\./)?(infra|functions|sources|shared|events|test)/[^$…]*$`)
	released = regexp.MustCompile(`nodefence[a-z0-9.-]*\.(yaml|tgz|zip|oci\.tar)$`)
)

// there looks for the files that a command is given: in the tree, or in what make release makes.
func there(c Command) error {
	for i, a := range c.Args[1:] {
		switch made := released.FindString(a); {
		case c.Args[i] == "-o":
		case inTree.MatchString(a):
			if _, err := os.Stat(filepath.Join(root, a)); err != nil {
				return fmt.Errorf("there is no %s in the repository", a)
			}
		case made != "" && !releases(made):
			return fmt.Errorf("make release makes no %s", made)
		}
	}
	return nil
}

// written are the names of files in the programs of make release: "nodefence-" + name + ".yaml".
var written = regexp.MustCompile(`(?:"([^"\n]*)" ?\+ ?)?(\w+) ?\+ ?"(\.(?:yaml|tgz|zip|oci\.tar))"|"(nodefence[^"\n]*\.yaml)"`)

// releases tells whether make release makes a file of that name: what stands between the fixed parts is
// a version, or a word of the same programs.
func releases(name string) bool {
	text := source("infra/release/*.go", "infra/release/*/*.go")
	for _, m := range written.FindAllStringSubmatch(text, -1) {
		middle, begins := strings.CutPrefix(name, m[1])
		middle, ends := strings.CutSuffix(middle, m[3])
		switch {
		case m[4] == name:
			return true
		case m[4] != "" || !begins || !ends || middle == "":
		case m[2] == "version" || strings.Contains(text, `"`+middle+`"`):
			return true
		}
	}
	return false
}

// source is the text of all these files.
func source(patterns ...string) string {
	var b strings.Builder
	for _, p := range patterns {
		files, _ := filepath.Glob(filepath.Join(root, p))
		for _, f := range files {
			text, _ := os.ReadFile(f) // what can't be read has no such word
			b.Write(text)
		}
	}
	return b.String()
}

// makes checks that make has the targets, and that it or what it runs reads the variables.
func makes(args []string) error {
	text, runs := source("Makefile"), source("test/bench/*.go", "test/soak/*.go")
	for _, a := range args {
		name, _, sets := strings.Cut(a, "=")
		switch {
		case sets && !strings.Contains(text, "$("+name+")") && !strings.Contains(runs, `"`+name+`"`):
			return fmt.Errorf("neither the Makefile nor test/bench nor test/soak reads %s", name)
		case !sets && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`:`).MatchString(text):
			return fmt.Errorf("the Makefile has no target %s", name)
		}
	}
	return nil
}

// goes checks that go takes the flags, and knows the packages.
func goes(t *testing.T, args []string) error {
	t.Helper()
	list := []string{"list"}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case args[0] == "run" && len(list) > 1: // the program's own arguments
		case a == "-o":
			i++
		default:
			local, _, _ := strings.Cut(a, "@")
			list = append(list, strings.Replace(local, "github.com/nodefence/nodefence/", "./", 1))
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", list...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// sends checks that nodefence takes the event that a command sends.
func sends(args []string) error {
	e, err := sent(args)
	if err != nil {
		return err
	}
	if err := e.Validate(); err != nil {
		return err
	}
	if err := events.Accept(e); err != nil {
		return err
	}
	if !events.Known(e.Type()) && !events.Asks(e.Type()) {
		return fmt.Errorf("nodefence has no events of type %s", e.Type())
	}
	if _, err := events.Node(e); err != nil {
		return err
	}
	_, err = events.ReadRequest(e)
	return err
}

// flags are the values of a command's flags, by their names; headers are curl's.
func flags(args []string) (by map[string][]string) {
	by = map[string][]string{}
	for i := 0; i+1 < len(args); i++ {
		if strings.HasPrefix(args[i], "-") {
			by[args[i]] = append(by[args[i]], args[i+1])
		}
	}
	return by
}

func sent(args []string) (event.Event, error) {
	of := flags(args)
	one := func(name string) string { return strings.Join(of[name], "") }
	var e event.Event
	switch args[0] {
	case "curl":
		r, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(one("-d")))
		if err != nil {
			return e, err
		}
		for _, h := range of["-H"] {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		got, err := binding.ToEvent(r.Context(), cehttp.NewMessageFromHttpRequest(r))
		if err != nil {
			return e, err
		}
		return *got, nil
	case "kn":
		e = event.New()
		data := map[string]string{}
		for _, f := range of["--field"] {
			name, value, _ := strings.Cut(f, "=")
			data[name] = value
		}
		e.SetID(one("--id"))
		e.SetType(one("--type"))
		e.SetSource("kn-event/1")
		e.SetTime(time.Now()) // kn sets it
		return e, e.SetData(event.ApplicationJSON, data)
	}
	text := one("--payload")
	if args[1] == "events" {
		var entries []struct{ EventBusName, Source, DetailType, Detail string }
		if err := json.Unmarshal([]byte(one("--entries")), &entries); err != nil || len(entries) != 1 {
			return e, fmt.Errorf("%d entries: %w", len(entries), err)
		}
		text = entries[0].Detail
		err := json.Unmarshal([]byte(text), &e)
		if err == nil && (entries[0].DetailType != e.Type() || entries[0].Source != e.Source()) {
			err = fmt.Errorf("DetailType and Source are %s and %s, and the event's type and source %s and %s", entries[0].DetailType, entries[0].Source, e.Type(), e.Source())
		}
		return e, err
	}
	return e, json.Unmarshal([]byte(text), &e)
}
