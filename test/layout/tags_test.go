package layout

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// programTags are the build tags of released programs.
func programTags(t *testing.T) string {
	t.Helper()
	tags := regexp.MustCompile(`(?m)^PROGRAM_TAGS := (\S+)$`).FindStringSubmatch(read(t, "../../Makefile"))
	if tags == nil {
		t.Fatal("the Makefile names no tags")
	}
	return tags[1]
}

// TestProgramsHaveTheSameTags, by whatever they are built.
func TestProgramsHaveTheSameTags(t *testing.T) {
	tags := programTags(t)
	for file, line := range map[string]string{
		"Makefile": `go build.*/cmd/nodefence(-source)?( .*)?`, "infra/knative/Dockerfile": `go build.*`,
		"infra/release/programs": `go build.*`, "infra/aws/README.md": `go build.*`,
	} {
		found := regexp.MustCompile(`(?m)`+line+`$`).FindAllString(read(t, "../../"+file), -1)
		if len(found) == 0 {
			t.Errorf("%s builds nothing", file)
		}
		for _, l := range found {
			if !strings.Contains(l, tags) && !strings.Contains(l, "-tags $(PROGRAM_TAGS)") {
				t.Errorf("%s: %s: want the tags %s", file, l, tags)
			}
		}
	}
}

// TestKoReadsTheTags: ko gets both build tags in one flag. In a YAML list, a comma outside of quotes ends the flag.
func TestKoReadsTheTags(t *testing.T) {
	var file struct {
		Builds []struct {
			ID    string
			Flags []string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../.ko.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, b := range file.Builds {
		got[b.ID] = b.Flags
	}
	flags := []string{"-tags=" + programTags(t)}
	want := map[string][]string{"nodefence": flags, "nodefence-local": flags, "nodefence-source": flags, "nodefence-kdump": nil}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf(".ko.yaml (-want +got):\n%s", d)
	}
}
