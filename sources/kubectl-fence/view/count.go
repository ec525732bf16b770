package view

import "fmt"

// Count is a number with the words that follow it, for one or for many: "1 pod is", "2 pods are".
func Count[N int | int32](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ofItsNodes is how many nodes of all: "1 of its 6 nodes is", "2 of its 6 nodes are".
func ofItsNodes(n, all int32) string {
	is := "are"
	if n == 1 {
		is = "is"
	}
	return fmt.Sprintf("%d of its %s %s", n, Count(all, "node", "nodes"), is)
}
