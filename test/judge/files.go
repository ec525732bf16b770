package judge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files are the paths of the logs of one history. Logs of one kind are read in the order given.
type Files struct{ Audit, BMCs, Writers []string }

// ReadFiles adds the content of the logs.
func (h *History) ReadFiles(files Files) error {
	return errors.Join(readEach(files.Audit, h.ReadAudit), readEach(files.BMCs, h.ReadBMCs), readEach(files.Writers, h.ReadWriters))
}

func readEach(paths []string, read func(string, io.Reader) error) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		err = read(filepath.Base(path), file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
