package crd_test

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAStatusIsOneUnit: the API server notes of each field of an object who wrote it. For a
// status of hundreds of fields that took longer than the rest of a write. Only nodefence
// writes a status, and never by server-side apply, so that it is noted as one field.
func TestAStatusIsOneUnit(t *testing.T) {
	for file, text := range crdTexts(t) {
		var crd struct {
			Spec struct {
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema struct {
							Properties map[string]map[string]any
						} `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			status, has := v.Schema.OpenAPIV3Schema.Properties["status"]
			if has && status["x-kubernetes-map-type"] != "atomic" {
				t.Errorf("%s, %s: the fields of its status are noted one by one: put +structType=atomic above the field Status", file, v.Name)
			}
		}
	}
}
