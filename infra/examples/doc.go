// Package examples has YAML to start from, and tests that check that the YAML works.
package examples
