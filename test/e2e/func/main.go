// Command func is the program that Knative's func makes of this repository: its
// scaffolding, which wraps what the root package's New returns. The test builds it in a
// module of its own, as func does.
package main

import (
	"fmt"
	"os"

	ce "knative.dev/func-go/cloudevents"

	f "github.com/nodefence/nodefence"
)

func main() {
	if err := ce.Start(f.New()); err != nil {
		fmt.Fprintln(os.Stderr, err.Error())
		os.Exit(1)
	}
}
