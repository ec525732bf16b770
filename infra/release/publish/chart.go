package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/nodefence/nodefence/infra/release/chart"
)

// created is the creation time in the manifest of every chart. With a constant, two runs of one commit push the same bytes.
const created = "1980-01-01T00:00:00Z"

// packedChart is the Helm chart of a release.
type packedChart struct {
	named  name.Tag
	packed []byte
}

// readChart reads the chart of a release. The repository of the chart is charts/nodefence beside the images.
func readChart(dist string, beside name.Repository) (*packedChart, error) {
	found, err := filepath.Glob(filepath.Join(dist, chart.Name+"-*.tgz"))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s has %d charts, want one: make release writes it", dist, len(found))
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), chart.Name+"-"), ".tgz")
	tag, err := name.NewTag(path.Join(path.Dir(beside.Name()), "charts", chart.Name)+":"+version, name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("name the chart: %w", err)
	}
	return &packedChart{tag, packed}, nil
}

func (c *packedChart) getTag() name.Tag { return c.named }

func (c *packedChart) isPublished(ctx context.Context) (bool, error) {
	i, err := remote.Image(c.named, requestOptions(ctx)...)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for %s: %w", c.named, err)
	}
	m, err := i.Manifest()
	if err != nil {
		return false, fmt.Errorf("read %s: %w", c.named, err)
	}
	mine, _, err := v1.SHA256(bytes.NewReader(c.packed))
	if err != nil {
		return false, err
	}
	if len(m.Layers) != 1 || m.Layers[0].Digest != mine {
		return false, fmt.Errorf("the registry has another chart under %s; a version is published once, so choose another VERSION", c.named)
	}
	return true, nil
}

// pushContent pushes the chart as `helm push` does, with the credentials of `helm registry login` or `docker login`.
func (c *packedChart) pushContent(context.Context) error {
	var how []registry.ClientOption
	if c.named.Scheme() == "http" {
		how = append(how, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(how...)
	if err != nil {
		return err
	}
	_, err = client.Push(c.packed, c.named.Name(), registry.PushOptCreationTime(created))
	return err
}
