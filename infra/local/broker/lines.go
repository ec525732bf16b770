package broker

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// split cuts a file into its documents. The decoder's own splitting would lose the text,
// which is needed to decode each document a second time as kubectl does.
func split(file string, data []byte) []*document {
	docs := []*document{{file: file}}
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		if rest, ok := separator(line); ok {
			docs = append(docs, &document{file: file, before: i})
			line = rest
		}
		last := docs[len(docs)-1]
		last.text = append(last.text, line...)
	}
	return docs
}

// separator reports whether a line ends a document, and returns the rest of the line. A
// missed separator would hide all documents after it.
func separator(line []byte) ([]byte, bool) {
	for _, mark := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(mark))
		if ok && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n")) {
			return rest, true
		}
	}
	return nil, false
}

var pathSegment = regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`)

// line returns the line of a field. For a missing field it returns the line of the nearest
// existing parent, because the field belongs there.
func (d *document) line(field string) int {
	line := 1
	node := d.root
	if node != nil {
		line = node.Line
	}
	for _, segment := range pathSegment.FindAllString(field, -1) {
		key, value := child(node, strings.Trim(segment, "[]"))
		if value == nil {
			break
		}
		line, node = key.Line, value
	}
	return d.before + line
}

// child finds a member of a mapping by its key, or of a list by its index. The first result
// is the node to point at: the key if there is one.
func child(n *yaml.Node, name string) (at, value *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.AliasNode:
		return child(n.Alias, name)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i], n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// addSyntax extracts the line from the text of a YAML error, which has it nowhere else.
func (d *document) addSyntax(err error) {
	found := yamlLine.FindAllStringSubmatch(err.Error(), -1)
	for _, m := range found {
		line, _ := strconv.Atoi(m[1])
		d.found = append(d.found, &problem{position{d.file, d.before + line}, "", m[2]})
	}
	if len(found) == 0 {
		d.add("", strings.TrimPrefix(err.Error(), "yaml: "))
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
