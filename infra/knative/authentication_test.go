package knative

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestRepliesMayReachTheBroker: with authentication on, Knative sends the reply of a
// function as the account of its Trigger, and so the EventPolicy names each Trigger.
func TestRepliesMayReachTheBroker(t *testing.T) {
	type reference struct{ APIVersion, Kind, Name, Namespace string }
	var policy struct {
		Spec struct{ From []struct{ Ref *reference } }
	}
	text, err := os.ReadFile("components/authentication/eventpolicy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	var got, want []reference
	for _, f := range policy.Spec.From {
		if f.Ref != nil && f.Ref.Kind == "Trigger" {
			got = append(got, *f.Ref)
		}
	}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(Triggers), 4096)
	for {
		var d struct {
			APIVersion, Kind string
			Metadata         struct{ Name, Namespace string }
		}
		if err := docs.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if d.Kind != "" {
			want = append(want, reference{d.APIVersion, d.Kind, d.Metadata.Name, d.Metadata.Namespace})
		}
	}
	if len(want) == 0 || slices.Contains(want, reference{}) {
		t.Fatalf("triggers.yaml has %v", want)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
