package redfishtest

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const sessions = root + "/SessionService/Sessions"

// Allow lets a user in with this password from now on.
func (b *BMC) Allow(user, password string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Users == nil {
		b.Users = map[string]string{}
	}
	b.Users[user] = password
}

// knows reports whether a request is from a user who is let in.
func (b *BMC) knows(r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		_, ok := b.sessions[token]
		return ok
	}
	user, password, ok := r.BasicAuth()
	return ok && b.right(user, password)
}

func (b *BMC) right(user, password string) bool {
	is, ok := b.Users[user]
	return ok && is == password
}

func (b *BMC) logIn(w http.ResponseWriter, r *http.Request) {
	var who struct{ UserName, Password string }
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil || json.Unmarshal(body, &who) != nil {
		refuse(w, Refusal{Status: http.StatusBadRequest, MessageID: "Base.1.8.MalformedJSON", Message: "The request body is not JSON."})
		return
	}
	uri, token, no := b.open(who.UserName, who.Password)
	if no.Status != 0 {
		refuse(w, no)
		return
	}
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", b.Moved+uri)
	send(w, http.StatusCreated, object{"@odata.id": uri, "@odata.type": "#Session.v1_3_0.Session", "Name": "session", "UserName": who.UserName})
}

func (b *BMC) open(user, password string) (uri, token string, no Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.MaxSessions
	if limit == 0 {
		limit = 4
	}
	switch {
	case !b.right(user, password):
		return "", "", Refusal{Status: http.StatusUnauthorized, MessageID: "Base.1.8.ResourceAtUriUnauthorized", Message: "The authentication failed."}
	case len(b.sessions) >= limit:
		return "", "", Refusal{Status: http.StatusServiceUnavailable, RetryAfter: "60", MessageID: "Base.1.8.SessionLimitExceeded",
			Message: "The session establishment failed due to the number of simultaneous sessions exceeding the limit."}
	}
	b.opened++
	token = rand.Text()
	if b.sessions == nil {
		b.sessions = map[string]string{}
	}
	b.sessions[token] = strconv.Itoa(b.opened)
	return sessions + "/" + b.sessions[token], token, Refusal{}
}

func (b *BMC) logOut(w http.ResponseWriter, path string) {
	id := strings.TrimPrefix(path, sessions+"/")
	b.mu.Lock()
	defer b.mu.Unlock()
	for token, is := range b.sessions {
		if is == id {
			delete(b.sessions, token)
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	refuse(w, missing)
}
