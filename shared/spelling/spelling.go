// Package spelling tells how near two words are, so that an error can name what was
// probably meant. Nothing is done by it: what is misspelt is refused.
package spelling

// Apart is how many bytes must be added, left out or changed to make one word of the
// other (Levenshtein's distance).
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
