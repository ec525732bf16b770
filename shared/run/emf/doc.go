// Package emf writes what a process has counted as log lines in CloudWatch's embedded metric format,
// of which CloudWatch makes metrics. It is for Lambda, where nobody scrapes a process.
//
// What a reader must not get wrong: a line says what was counted since the line before it, so that
// CloudWatch may add up the lines of all processes. What a process that is ended had counted since
// its last line is lost.
package emf
