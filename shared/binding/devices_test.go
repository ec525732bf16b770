package binding

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestWhose: the other end of a swapped cable is told by its node's name, in any of
// the orders in which firmware writes a UUID; no ConfigMap of another kind counts.
func TestWhose(t *testing.T) {
	const a, b = "00112233-4455-6677-8899-aabbccddeeff", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	mine, theirs := enrol("a", "1", ""), enrol("b", "2", "")
	mine.Data["system_uuid"], theirs.Data["system_uuid"] = a, "00000000-0000-0000-0000-000000000001"
	stray := write("fence-config-node-c", "node_name", "c", "system_uuid", b)
	all := stored(t, []corev1.ConfigMap{theirs, stray, mine}, nil)
	for identity, want := range map[string]string{a: "a", "33221100-5544-7766-8899-aabbccddeeff": "a", b: "", "": ""} {
		if got, enrolled, err := all.Whose(t.Context(), identity); got != want || err != nil || (enrolled == "") == (want == "a") || want == "a" && enrolled != a {
			t.Errorf("%s is %q, want %q: %v", identity, got, want, err)
		}
	}
}
