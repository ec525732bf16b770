package agent

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// metadata is what an agent declares about itself.
type metadata struct {
	agent, path string
	params      []param
	// older are earlier names of parameters, which the agent still accepts.
	older   map[string]string
	actions []string
	// fabric agents cut a machine off from storage or network. Those with local give access back
	// only if they run on the machine itself.
	fabric, local bool
}

type param struct {
	// name has no "-"; word is the agent's own spelling.
	name, word, kind, usual, doc string
	required                     bool
	options                      []string
}

// declared is the XML of it.
type declared struct {
	XMLName    xml.Name `xml:"resource-agent"`
	Parameters []struct {
		Name       string `xml:"name,attr"`
		Required   string `xml:"required,attr"`
		Obsoletes  string `xml:"obsoletes,attr"`
		Deprecated string `xml:"deprecated,attr"`
		Short      string `xml:"shortdesc"`
		Content    struct {
			Type    string `xml:"type,attr"`
			Default string `xml:"default,attr"`
			Options []struct {
				Value string `xml:"value,attr"`
			} `xml:"option"`
		} `xml:"content"`
	} `xml:"parameters>parameter"`
	Actions []struct {
		Name      string `xml:"name,attr"`
		Automatic string `xml:"automatic,attr"`
		OnTarget  string `xml:"on_target,attr"`
	} `xml:"actions>action"`
}

// norm makes "-" and "_" the same.
func norm(s string) string { return strings.ReplaceAll(s, "-", "_") }

func parse(agent, path string, text []byte) (*metadata, error) {
	// Libraries of agents print warnings before it.
	if i := bytes.IndexByte(text, '<'); i > 0 {
		text = text[i:]
	}
	var d declared
	if err := xml.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("it is not the XML of a fence agent: %w", err)
	}
	m := &metadata{agent: agent, path: path, older: map[string]string{}}
	for _, p := range d.Parameters {
		for _, o := range strings.FieldsFunc(p.Obsoletes, func(r rune) bool { return r == ',' || r == ' ' }) {
			if norm(o) != norm(p.Name) {
				m.older[norm(o)] = norm(p.Name)
			}
		}
	}
	for _, p := range d.Parameters {
		name := norm(p.Name)
		if _, known := m.param(name); known || name == "" || m.older[name] != "" {
			continue
		}
		q := param{name: name, word: p.Name, kind: p.Content.Type, usual: p.Content.Default,
			doc: strings.Join(strings.Fields(p.Short), " "), required: p.Required == "1"}
		for _, o := range p.Content.Options {
			q.options = append(q.options, o.Value)
		}
		m.params = append(m.params, q)
	}
	for _, a := range d.Actions {
		m.actions = append(m.actions, a.Name)
		m.fabric = m.fabric || a.Name == "on" && a.Automatic == "1"
		m.local = m.local || a.Name == "on" && a.OnTarget == "1"
	}
	return m, nil
}

func (m *metadata) param(name string) (param, bool) {
	i := slices.IndexFunc(m.params, func(p param) bool { return p.name == name })
	if i < 0 {
		return param{}, false
	}
	return m.params[i], true
}

func (m *metadata) has(name string) bool { _, ok := m.param(name); return ok }

func (m *metadata) can(action string) bool { return slices.Contains(m.actions, action) }

// patience is how long an agent may take to print its metadata: it loads the
// libraries of its cloud first.
const patience = 30 * time.Second

// cache has what agents declared, by path, for as long as the file is the same: asking takes up
// to a second of CPU time.
var cache sync.Map

type cached struct {
	sync.Mutex
	changed time.Time
	size    int64
	m       *metadata
}

var agentName = regexp.MustCompile(`^fence_[a-z0-9][a-z0-9_]{0,60}$`)

// find reads the metadata of an installed agent.
func find(name, dir string) (*metadata, error) {
	if !agentName.MatchString(name) {
		return nil, fmt.Errorf("%.80q is not the name of a fence agent, such as fence_apc", name)
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("find agent %s: %w", name, err)
	}
	file, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, device.NotInstalled(fmt.Sprintf("agent %s is not installed: there is no %s; add it to the image of the functions (Debian: fence-agents), or set NODEFENCE_AGENTS_DIR to where it is", name, path))
	case err != nil:
		return nil, fmt.Errorf("find agent %s: %w", name, err)
	case !file.Mode().IsRegular() || file.Mode()&0o111 == 0:
		return nil, fmt.Errorf("agent %s can't be run: %s is not an executable file", name, path)
	}
	slot, _ := cache.LoadOrStore(path, &cached{})
	c := slot.(*cached)
	c.Lock()
	defer c.Unlock()
	if c.m == nil || !c.changed.Equal(file.ModTime()) || c.size != file.Size() {
		m, err := ask(name, path)
		if err != nil {
			return nil, fmt.Errorf("read the metadata of agent %s: %w", name, err)
		}
		c.m, c.changed, c.size = m, file.ModTime(), file.Size()
	}
	return c.m, nil
}

// ask runs the agent. It gets no parameters, so that it has no machine to switch if it does not
// know the action.
func ask(name, path string) (*metadata, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o, err := run(ctx, job{Path: path, Args: []string{"-o", "metadata"}})
	switch {
	case err != nil:
		return nil, err
	case o.Err != "":
		return nil, errors.New(o.Err)
	case o.Late:
		return nil, fmt.Errorf("it takes longer than %s", patience)
	case o.Code != 0:
		return nil, fmt.Errorf("it exits with %d: %s", o.Code, words(o))
	}
	return parse(name, path, o.Stdout.Data)
}
