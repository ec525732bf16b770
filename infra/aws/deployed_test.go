package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsAdoptedIsDeployed: the function adopt is there, with all that belongs to it, only where
// FenceAgentsRemediations are adopted. Every function is told what is adopted, and where.
func TestWhatIsAdoptedIsDeployed(t *testing.T) {
	belongs := []string{"Adopt", "AdoptRole", "AdoptAccess", "AdoptLog", "AdoptSilentAlarm"}
	for kinds, want := range map[string]bool{"": false, "mhc": false, "far": true, "far,mhc": true} {
		s, err := stack(t).With(map[string]string{"AdoptKinds": kinds, "AdoptNamespaces": "a,b", "RequestNamespaces": "b"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range belongs {
			if _, is := s.Resources[id]; is != want {
				t.Errorf("%q adopts, and %s is there: %v", kinds, id, is)
			}
		}
		told := fmt.Sprint(s.Globals.Function["Environment"])
		for variable, value := range map[string]string{"NODEFENCE_ADOPT": kinds, "NODEFENCE_ADOPT_NAMESPACES": "a,b", "NODEFENCE_REQUEST_NAMESPACES": "b"} {
			if !strings.Contains(told+" ", variable+":"+value+" ") && !strings.Contains(told, variable+":"+value+"]") {
				t.Errorf("%q adopts, and %s is not %q: %s", kinds, variable, value, told)
			}
		}
	}
}

// TestADeploymentLeavesOut what no parameter asks for, and nothing else.
func TestADeploymentLeavesOut(t *testing.T) {
	s, err := stack(t).With(nil)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for id := range stack(t).Resources {
		if _, is := s.Resources[id]; !is {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "Adopt AdoptAccess AdoptLog AdoptRole AdoptSilentAlarm IsolateNetwork SourceAccess Vpc" {
		t.Errorf("left out: %s", got)
	}
	if is := at[string](t, s.Resources["Gate"], "Environment", "Variables", "NODEFENCE_NEIGHBORS_IMAGE"); is != "" {
		t.Errorf("the image is %q", is)
	}
	if s, err = stack(t).With(map[string]string{"SubnetIds": "subnet-1,subnet-2"}); err != nil || s.Resources["Vpc"].Type == "" {
		t.Errorf("with subnets: %v, %+v", err, s)
	}
	for name, c := range map[string]struct {
		parameters map[string]string
		want       string
	}{
		"no such parameter": {map[string]string{"Adopt": "far"}, "the template has no parameter Adopt"},
		"no such kind":      {map[string]string{"AdoptKinds": "fra"}, `parameter AdoptKinds: "fra" is none of ["" "far" "mhc" "far,mhc"]`},
	} {
		if _, err := stack(t).With(c.parameters); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	odd, err := Parse([]byte("Conditions: {C: !And [true, true]}\nResources: {R: {Type: T, Condition: C}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := odd.With(nil); err == nil || err.Error() != "R: condition C is not understood here" {
		t.Errorf("of an operator that is not known here: %v", err)
	}
}

// TestNothingReferredToIsLeftOut: what is deployed without a condition refers to a resource with one
// only where an If decides. CloudFormation refuses anything else.
func TestNothingReferredToIsLeftOut(t *testing.T) {
	whole := stack(t)
	s, err := whole.With(nil)
	if err != nil {
		t.Fatal(err)
	}
	leftOut := func(name string) bool {
		name, _, _ = strings.Cut(name, ".")
		_, is := s.Resources[name]
		_, was := whole.Resources[name]
		return was && !is
	}
	for id, r := range s.Resources {
		walk(decided(r.Properties), func(key string, value any) {
			text, _ := value.(string)
			names := []string{text}
			switch key {
			case "Ref", "Fn::GetAtt":
			case "Fn::Sub":
				names = nil
				for _, m := range substituted.FindAllStringSubmatch(text, -1) {
					names = append(names, m[1])
				}
			default:
				return
			}
			if i := slices.IndexFunc(names, leftOut); i >= 0 {
				t.Errorf("%s refers to %s, which is not there unless a parameter asks for it", id, names[i])
			}
		})
	}
}

// decided is a value without what an If chooses between.
func decided(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = decided(x)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "Fn::If" {
				out[k] = decided(x)
			}
		}
		return out
	}
	return v
}
