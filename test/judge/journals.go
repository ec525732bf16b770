package judge

import (
	"encoding/json"
	"io"
)

// ReadBMCs adds the commands of a journal of BMCs.
func (h *History) ReadBMCs(name string, from io.Reader) error {
	return readLines(name, from, func(line Line, text []byte) error {
		c := Command{Line: line}
		err := json.Unmarshal(text, &c)
		h.Commands = append(h.Commands, c)
		return err
	})
}

// ReadWriters adds the changes of a journal of writers.
func (h *History) ReadWriters(name string, from io.Reader) error {
	return readLines(name, from, func(line Line, text []byte) error {
		s := Span{Line: line}
		err := json.Unmarshal(text, &s)
		h.Spans = append(h.Spans, s)
		return err
	})
}
