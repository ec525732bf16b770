package supervisor

import (
	"errors"
	"io"
)

// largest is the most that one text may have. Both sides are one program, so more is a fault.
const largest = 16 << 20

var errTooLong = errors.New("a text is too long")

// Encode is the job as ReadJob reads it.
func (j Job) Encode() []byte {
	var w words
	w.text([]byte(j.Path))
	w.number(len(j.Args))
	for _, a := range j.Args {
		w.text([]byte(a))
	}
	w.text(j.Input)
	return w
}

// ReadJob reads one job and nothing that follows it. It fails if the job is not all there.
func ReadJob(in io.Reader) (Job, error) {
	r := reader{in: in}
	j := Job{Path: string(r.text())}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		j.Args = append(j.Args, string(r.text()))
	}
	j.Input = r.text()
	return j, r.err
}

// Encode is the outcome as ReadOutcome reads it.
func (o Outcome) Encode() []byte {
	var w words
	w.text([]byte(o.Err))
	w.number(o.Code)
	w.yes(o.Late)
	for _, t := range []Text{o.Stdout, o.Stderr} {
		w.text(t.Data)
		w.yes(t.Cut)
	}
	return w
}

// ReadOutcome reads one outcome. It fails if the outcome is not all there.
func ReadOutcome(in io.Reader) (Outcome, error) {
	r := reader{in: in}
	o := Outcome{Err: string(r.text()), Code: r.number(), Late: r.yes()}
	for _, t := range []*Text{&o.Stdout, &o.Stderr} {
		t.Data, t.Cut = r.text(), r.yes()
	}
	return o, r.err
}

// words are numbers of eight bytes each, and texts after their lengths.
type words []byte

func (w *words) number(n int) {
	for shift := 56; shift >= 0; shift -= 8 {
		*w = append(*w, byte(int64(n)>>shift))
	}
}

func (w *words) yes(is bool) {
	if is {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *words) text(t []byte) {
	w.number(len(t))
	*w = append(*w, t...)
}

// reader reads words. After an error it reads no more, and all is zero.
type reader struct {
	in  io.Reader
	err error
}

func (r *reader) fill(b []byte) {
	if r.err == nil {
		_, r.err = io.ReadFull(r.in, b)
	}
}

func (r *reader) number() int {
	var b [8]byte
	r.fill(b[:])
	if r.err != nil {
		return 0
	}
	var n int64
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return int(n)
}

func (r *reader) yes() bool { return r.number() == 1 }

func (r *reader) text() []byte {
	n := r.number()
	if r.err == nil && (n < 0 || n > largest) {
		r.err = errTooLong
	}
	if r.err != nil || n == 0 {
		return nil
	}
	b := make([]byte, n)
	r.fill(b)
	return b
}
