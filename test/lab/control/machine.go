package control

import (
	"errors"
	"fmt"
	"net/http"
)

// HandleMachine serves do for the machine that the path names as its node. An error of do is the caller's mistake:
// StatusConflict if the machine is in no state for the request (state), StatusBadRequest otherwise.
func HandleMachine[M any](find func(string) *M, state error, do func(*M, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := find(r.PathValue("node"))
		if m == nil {
			Refuse(w, http.StatusNotFound, fmt.Errorf("no machine %q", r.PathValue("node")))
			return
		}
		result, err := do(m, r)
		switch {
		case err == nil:
			Answer(w, http.StatusOK, result)
		case errors.Is(err, state):
			Refuse(w, http.StatusConflict, err)
		default:
			Refuse(w, http.StatusBadRequest, err)
		}
	}
}
