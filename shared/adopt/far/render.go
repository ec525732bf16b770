package far

import (
	"errors"
	"strings"
	"text/template/parse"
)

// errTemplate: only the node's name is filled in. Other templates could print without an end, or
// something else than what the user sees.
var errTemplate = errors.New("the template can't be read: only {{.NodeName}} is filled in")

// Render fills the node's name into a value, where that has {{.NodeName}}. named tells whether it
// has. An error does not show the value, which may be a secret (S29: no secret is shown).
func Render(value, node string) (out string, named bool, err error) {
	if !strings.Contains(value, "{{") {
		return value, false, nil
	}
	trees, err := parse.Parse("value", value, "", "")
	if err != nil || trees["value"] == nil {
		return "", false, errTemplate
	}
	var b strings.Builder
	for _, n := range trees["value"].Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			b.Write(n.Text)
		case *parse.ActionNode:
			if !namesNode(n.Pipe) {
				return "", false, errTemplate
			}
			b.WriteString(node)
			named = true
		default:
			return "", false, errTemplate
		}
	}
	return b.String(), named, nil
}

// namesNode tells whether a pipe is .NodeName and nothing else.
func namesNode(p *parse.PipeNode) bool {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	f, is := p.Cmds[0].Args[0].(*parse.FieldNode)
	return is && len(f.Ident) == 1 && f.Ident[0] == "NodeName"
}
