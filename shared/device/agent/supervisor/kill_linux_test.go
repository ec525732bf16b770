package supervisor

import "testing"

func TestParent(t *testing.T) {
	for stat, want := range map[string]int{
		"812 (fence_x) S 811 812 812 0 -1": 811,
		"812 (a b) c) 7 (d) R 1 812 812":   1,
		"812 () Z 4194303 0":               4194303,
		"812 (fence_x) S":                  0,
		"812 (fence_x) S x y":              0,
		"":                                 0,
	} {
		if got := parent([]byte(stat)); got != want {
			t.Errorf("%q: got %d, want %d", stat, got, want)
		}
	}
}
