package pages

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nodefence/nodefence/test/golden"
)

const (
	valuesFile = "../../infra/release/chart/nodefence/values.yaml"
	valuesPage = "../../docs/reference/values.md"
	valuesHead = `# Values of the Helm chart

Made from [values.yaml](../../infra/release/chart/nodefence/values.yaml), whose comments these are. A value that is not
listed here is refused. [INSTALL.md](../../infra/INSTALL.md#by-helm) has the commands.

| value | default | what it does |
|---|---|---|
`
)

// TestGeneratedValues: the page has a row for each value of the chart. A value of the first level without a comment fails.
func TestGeneratedValues(t *testing.T) {
	text, err := os.ReadFile(valuesFile)
	if err != nil {
		t.Fatal(err)
	}
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString(valuesHead)
	eachPair(file.Content[0], func(key, value *yaml.Node) {
		says := commentOf(key)
		if says == "" {
			t.Errorf("%s:%d: no comment says what %s does", valuesFile, key.Line, key.Value)
		}
		if !hasParts(value) {
			writeRow(&page, []string{key.Value}, quoteCode(formatInline(t, value)), says)
			return
		}
		writeRow(&page, []string{key.Value}, "", says)
		writeParts(t, &page, key.Value, value)
	})
	golden.File(t, valuesPage, page.String())
}

// eachPair calls f for each key and value of a mapping.
func eachPair(mapping *yaml.Node, f func(key, value *yaml.Node)) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		f(mapping.Content[i], mapping.Content[i+1])
	}
}

// hasParts reports whether a value is a mapping with keys. Each key gets a row.
func hasParts(value *yaml.Node) bool {
	return value.Kind == yaml.MappingNode && len(value.Content) > 0
}

// writeParts writes a row for each key of a mapping. Successive keys with the same default and no comment share a row.
func writeParts(t *testing.T, page *strings.Builder, above string, mapping *yaml.Node) {
	t.Helper()
	var names []string
	var last, lastSays string
	eachPair(mapping, func(key, value *yaml.Node) {
		is, says := formatInline(t, value), commentOf(key)
		if len(names) > 0 && (is != last || says+lastSays != "") {
			writeRow(page, names, quoteCode(last), lastSays)
			names = nil
		}
		names, last, lastSays = append(names, above+"."+key.Value), is, says
	})
	writeRow(page, names, quoteCode(last), lastSays)
}

func writeRow(page *strings.Builder, names []string, value, says string) {
	for i, name := range names {
		names[i] = quoteCode(name)
	}
	fmt.Fprintf(page, "| %s | %s | %s |\n", strings.Join(names, ", "), value, says)
}

func quoteCode(text string) string { return "`" + text + "`" }

// formatInline returns a value in one line of YAML.
func formatInline(t *testing.T, value *yaml.Node) string {
	t.Helper()
	is := *value
	is.Style |= yaml.FlowStyle
	is.HeadComment, is.LineComment, is.FootComment = "", "", ""
	text, err := yaml.Marshal(&is)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// commentOf returns the comment above a key as the cell of a table.
func commentOf(key *yaml.Node) string {
	var words []string
	for line := range strings.Lines(key.HeadComment) {
		words = append(words, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#")))
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(words, " ")), "|", `\|`)
}
