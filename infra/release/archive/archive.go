// Package archive packs files so that the same files make the same bytes: in one order, with one
// time, and without anybody's name.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// Files are what is packed, by their path within.
type Files map[string][]byte

// then is the time of every file: the first that a zip can say.
var then = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// programs are the names of files that may be run.
var programs = []string{"bootstrap"}

// TarGz is a .tar.gz.
func TarGz(files Files) ([]byte, error) {
	plain, err := Tar(files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// Tar is a .tar.
func Tar(files Files) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: mode(name), ModTime: then, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// Read returns the files of a .tar.
func Read(packed []byte) (Files, error) {
	files, r := Files{}, tar.NewReader(bytes.NewReader(packed))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

// Untar creates a folder, and unpacks a .tar into the folder. A path that leads out of the folder is an error.
func Untar(packed []byte, folder string) error {
	files, err := Read(packed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for name, text := range files {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
		if err := root.WriteFile(name, text, 0o644); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	return nil
}

// Zip is a .zip.
func Zip(files Files) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: then}
		h.SetMode(fileMode(name))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func mode(name string) int64 { return int64(fileMode(name)) }

func fileMode(name string) fs.FileMode {
	if slices.Contains(programs, path.Base(name)) {
		return 0o755
	}
	return 0o644
}
