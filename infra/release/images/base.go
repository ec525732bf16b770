package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nodefence/nodefence/infra/release/archive"
)

// base is an image that is served on loopback.
type base struct {
	image  string
	server *http.Server
}

func (b base) close() { _ = b.server.Close() }

// address is where the base is served. ko writes it into each image, so it is always the same.
const address = "127.0.0.1:20517"

// serveBase serves an image with these CA certificates and nothing else, for each platform.
func serveBase(certificates string, platforms []string) (*base, error) {
	text, err := os.ReadFile(certificates)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificates: %w", err)
	}
	files, err := archive.Tar(archive.Files{"etc/ssl/certs/ca-certificates.crt": text})
	if err != nil {
		return nil, err
	}
	index, err := baseIndex(files, platforms)
	if err != nil {
		return nil, err
	}
	digest, err := index.Digest()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: images are built by one at a time on one machine", err)
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	go func() { _ = server.Serve(listener) }()
	b := &base{image: fmt.Sprintf("%s/base@%s", address, digest), server: server}
	ref, err := name.ParseReference(b.image)
	if err == nil {
		err = remote.WriteIndex(ref, index)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// baseIndex has one image a platform, which runs as nobody.
func baseIndex(files []byte, platforms []string) (v1.ImageIndex, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		system, architecture, found := strings.Cut(platform, "/")
		if !found {
			return nil, fmt.Errorf("platform %q: write one such as linux/amd64", platform)
		}
		image, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), layer)
		if err != nil {
			return nil, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		config = config.DeepCopy()
		config.OS, config.Architecture, config.Config.User = system, architecture, "65532:65532"
		if image, err = mutate.ConfigFile(image, config); err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}}})
	}
	return index, nil
}
