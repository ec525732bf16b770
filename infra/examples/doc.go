// Package examples has YAML to start from, and the tests that it works.
package examples
