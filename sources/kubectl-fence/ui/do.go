package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
)

// ask serves the page that says what an act will do, and asks.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	s.askAgain(w, r, http.StatusOK, "")
}

// askAgain serves it with a word on why the person is asked again.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, status int, why string) {
	verb, name := r.PathValue("verb"), r.PathValue("name")
	v, ok := verbs[verb]
	if !ok {
		s.nowhere(w, r)
		return
	}
	p, err := v.prepare(r.Context(), s, name, given{Person: s.person(metav1.Now().Rfc3339Copy())})
	if err != nil {
		s.refused(w, v, name, err)
		return
	}
	l := s.look()
	l.Notice = why
	c := &page.Confirm{
		Look: l, Verb: verb, Name: name, Question: v.question(name), Says: items(p.says), Back: v.back(name),
		Secret: s.form, At: p.at.UTC().Format(time.RFC3339), Shown: p.shown,
		TakesReason: v.takesReason, NeedsReason: v.needsReason, Hardware: v.typed, As: p.as,
	}
	if v.typed {
		c.Types = name
	}
	s.write(w, status, c, &page.Frame{Look: l})
}

// items are sentences without the dashes that a terminal needs.
func items(says []string) []string {
	out := make([]string, 0, len(says))
	for _, w := range says {
		out = append(out, strings.TrimPrefix(w, "- "))
	}
	return out
}

func (s *Server) person(at metav1.Time) act.Person { return act.Person{Name: s.User, At: at} }

// do carries out what the person was asked about, if it is still what they were shown.
func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	v, ok := verbs[r.PathValue("verb")]
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	at, err := time.Parse(time.RFC3339, r.PostFormValue("at"))
	switch {
	case !ok:
		s.nowhere(w, r)
		return
	case err != nil || !same(r.PostFormValue("secret"), s.form):
		refuse(w, "this is no form of this page: open the page, and use its own")
		return
	case v.typed && strings.TrimSpace(r.PostFormValue("typed")) != name:
		s.askAgain(w, r, http.StatusUnprocessableEntity, "Nothing was done: what was typed is not the node's name, "+name+".")
		return
	}
	in := given{Person: s.person(metav1.NewTime(at))}
	shown, err := v.prepare(r.Context(), s, name, in)
	if err != nil {
		s.refused(w, v, name, err)
		return
	}
	if shown.shown != r.PostFormValue("shown") {
		s.askAgain(w, r, http.StatusConflict, "Nothing was done: what is asked about has changed since it was shown. Look again.")
		return
	}
	in.Reason, in.as, in.hardware = strings.TrimSpace(r.PostFormValue("reason")), r.PostFormValue("as"), r.PostFormValue("hardware") == "yes"
	p, err := v.prepare(r.Context(), s, name, in)
	if err == nil {
		err = p.carry(r.Context())
	}
	if err != nil {
		s.refused(w, v, name, err)
		return
	}
	back := s.base + v.back(name) + "?notice=" + strconv.Itoa(s.noticed(capital(p.done)+"."))
	http.Redirect(w, r, back, http.StatusSeeOther)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// refused says why nothing was done.
func (s *Server) refused(w http.ResponseWriter, v verb, name string, err error) {
	status := http.StatusUnprocessableEntity
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) && refusal.Status().Code >= http.StatusBadRequest {
		status = int(refusal.Status().Code)
	}
	s.say(w, status, "Nothing was done", capital(cluster.Explain(err).Error())+".", v.back(name), "Go back")
}
