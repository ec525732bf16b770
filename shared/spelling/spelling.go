// Package spelling measures how near two words are, so that an error can name the word that
// was probably meant. It changes nothing: a misspelled word is refused.
package spelling

import "slices"

// Near is the known word that a misspelled one was probably meant to be, at most two
// letters away from it, or one letter if it is short; empty if there is none.
func Near(word string, known []string) string {
	least, nearest := 3, ""
	if len(word) < 4 {
		least = 2
	}
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := Apart(word, k); d > 0 && d < least {
			least, nearest = d, k
		}
	}
	return nearest
}

// Apart is how many bytes must be added, removed or changed to make one word of the other
// (Levenshtein's distance).
func Apart(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
