package ui

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
	"github.com/nodefence/nodefence/sources/kubectl-fence/ui/page"
)

// ask serves the page that says what an act will do, and asks.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	s.askAgain(w, r, http.StatusOK, "", given{})
}

// askAgain serves it with a word on why the person is asked again, and with what they have typed. The
// name of a node is to be typed each time.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, status int, why string, typed given) {
	verb, name := r.PathValue("verb"), r.PathValue("name")
	v, ok := verbs[verb]
	if !ok {
		s.nowhere(w, r)
		return
	}
	in := given{Person: s.person(metav1.NewTime(s.Client.Now()).Rfc3339Copy())}
	build, err := v.read(r.Context(), s, name)
	var p prepared
	if err == nil {
		p, err = build(in)
	}
	if err != nil {
		s.refused(w, v, name, err)
		return
	}
	l := s.look()
	l.Warning = why
	c := &page.Confirm{
		Look: l, Verb: verb, Name: name, Question: v.question(name), Says: items(p.says), Back: v.back(name),
		Secret: s.form, At: in.At.UTC().Format(time.RFC3339), Shown: p.shown,
		TakesReason: v.takesReason, NeedsReason: v.needsReason, Reason: typed.Reason, Hardware: v.typed, Broken: typed.hardware,
	}
	if p.as != "" {
		c.As = cmp.Or(typed.as, p.as)
	}
	if v.typed {
		c.Types = name
	}
	if v.drains {
		c.Drains = drains(typed.drain)
	}
	s.write(w, status, c, &page.Frame{Look: l})
}

// drains are the choices of how a node is drained first, with what each does.
func drains(chosen string) (out []page.Choice) {
	for _, wish := range []api.DrainWish{api.DrainIfReady, api.DrainSkip} {
		says, _ := act.Drain(&api.FenceRequest{}, string(wish)) // both are wishes that it knows
		out = append(out, page.Choice{Value: string(wish), Says: says, Chosen: cmp.Or(chosen, string(api.DrainIfReady)) == string(wish)})
	}
	return out
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
	}
	in := given{Person: s.person(metav1.NewTime(at)), as: r.PostFormValue("as"), hardware: r.PostFormValue("hardware") == "yes", drain: r.PostFormValue("drain")}
	in.Reason = strings.TrimSpace(r.PostFormValue("reason"))
	if v.typed && strings.TrimSpace(r.PostFormValue("typed")) != name {
		s.askAgain(w, r, http.StatusUnprocessableEntity, "Nothing was done: what was typed is not the node's name, "+name+".", in)
		return
	}
	if v.needsReason && in.Reason == "" {
		s.askAgain(w, r, http.StatusUnprocessableEntity, "Nothing was done: say why, for those who read it later.", in)
		return
	}
	p, still, err := s.agreed(r, v, name, in)
	switch {
	case err == nil && !still:
		s.askAgain(w, r, http.StatusConflict, "Nothing was done: what is asked about has changed since it was shown. Look again.", in)
		return
	case err == nil:
		err = p.carry(r.Context())
	}
	if err != nil {
		s.refused(w, v, name, err)
		return
	}
	back := s.base + v.back(name) + "?notice=" + strconv.Itoa(s.noticed(capital(p.done)+"."))
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// agreed is the act that a person has agreed to, and whether it is still what they were shown. Both
// come of one read.
func (s *Server) agreed(r *http.Request, v verb, name string, in given) (p prepared, still bool, err error) {
	build, err := v.read(r.Context(), s, name)
	if err != nil {
		return p, false, err
	}
	shown, err := build(given{Person: s.person(in.At)})
	if err != nil || shown.shown != r.PostFormValue("shown") {
		return p, false, err
	}
	p, err = build(in)
	return p, true, err
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
