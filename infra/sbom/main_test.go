package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBill has what was linked, in the version that was, and the same each time.
func TestBill(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.1", Path: "example.com/p/cmd/x", Main: debug.Module{Path: "example.com/p", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "secret?"}},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0+incompatible", Sum: "h1:a="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0", Sum: "h1:c="}},
		},
	}
	const want = `{
 "bomFormat": "CycloneDX",
 "specVersion": "1.6",
 "version": 1,
 "metadata": {
  "component": {
   "bom-ref": "example.com/p/cmd/x",
   "type": "application",
   "name": "x",
   "version": "v1.2.3",
   "properties": [
    {
     "name": "go:build:GOOS",
     "value": "linux"
    }
   ]
  }
 },
 "components": [
  {
   "bom-ref": "pkg:golang/std@1.26.1",
   "type": "library",
   "name": "std",
   "version": "1.26.1",
   "purl": "pkg:golang/std@1.26.1"
  },
  {
   "bom-ref": "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
   "type": "library",
   "name": "example.com/a",
   "version": "v1.0.0+incompatible",
   "purl": "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
   "properties": [
    {
     "name": "go:sum",
     "value": "h1:a="
    }
   ]
  },
  {
   "bom-ref": "pkg:golang/example.com/c@v2.0.0",
   "type": "library",
   "name": "example.com/c",
   "version": "v2.0.0",
   "purl": "pkg:golang/example.com/c@v2.0.0",
   "properties": [
    {
     "name": "go:sum",
     "value": "h1:c="
    }
   ]
  }
 ],
 "dependencies": [
  {
   "ref": "example.com/p/cmd/x",
   "dependsOn": [
    "pkg:golang/std@1.26.1",
    "pkg:golang/example.com/a@v1.0.0%2Bincompatible",
    "pkg:golang/example.com/c@v2.0.0"
   ]
  }
 ]
}
`
	var b strings.Builder
	if err := write(&b, "x", info); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
