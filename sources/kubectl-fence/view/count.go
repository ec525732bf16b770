package view

import "fmt"

// Count is a number with the words that follow it, for one or for many: "1 pod is", "2 pods are".
func Count[N int | int32](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
