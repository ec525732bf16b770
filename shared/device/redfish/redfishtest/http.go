package redfishtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	root = "/redfish/v1"
	// maxBody is more than any of these requests has.
	maxBody = 1 << 16
)

// Refusal is an answer that is no success.
type Refusal struct {
	Status             int
	MessageID, Message string
	// RetryAfter and Location are headers.
	RetryAfter, Location string
	// Body is sent as it is, in place of a Redfish message.
	Body string
}

var missing = Refusal{Status: http.StatusNotFound, MessageID: "Base.1.8.ResourceMissingAtURI", Message: "The resource at the URI was not found."}

// Refuse makes every request of this method and path fail from now on, without reaching any
// system; a zero Refusal ends this. The answer need not be a failure.
func (b *BMC) Refuse(method, path string, with Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refusals == nil {
		b.refusals = map[string]Refusal{}
	}
	b.refusals[method+" "+path] = with
}

func (b *BMC) refusal(r *http.Request) Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusals[r.Method+" "+r.URL.Path]
}

// ServeHTTP is the API.
func (b *BMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.Heard != nil {
		b.Heard(r)
	}
	if b.breaks(w, r) {
		return
	}
	b.answer(w, r)
}

func (b *BMC) answer(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if no := b.refusal(r); no.Status != 0 {
		refuse(w, no)
		return
	}
	switch {
	case path == "/redfish" && r.Method == http.MethodGet:
		send(w, http.StatusOK, object{"v1": root + "/"})
		return
	case path == root && r.Method == http.MethodGet:
		send(w, http.StatusOK, service())
		return
	case path == sessions && r.Method == http.MethodPost:
		b.logIn(w, r)
		return
	case !b.knows(r):
		w.Header().Set("WWW-Authenticate", `Basic realm="Redfish"`)
		refuse(w, Refusal{Status: http.StatusUnauthorized, MessageID: "Base.1.8.NoValidSession", Message: "There is no valid session established with the implementation."})
		return
	}
	b.known(w, r, path)
}

// known is for clients that were let in.
func (b *BMC) known(w http.ResponseWriter, r *http.Request, path string) {
	id, isSystem := strings.CutPrefix(path, root+"/Systems/")
	id, isReset := strings.CutSuffix(id, "/Actions/ComputerSystem.Reset")
	chassis, isChassis := strings.CutPrefix(path, root+"/Chassis/")
	switch {
	case strings.HasPrefix(path, sessions+"/") && r.Method == http.MethodDelete:
		b.logOut(w, path)
	case path == root+"/Systems" && r.Method == http.MethodGet:
		b.list(w, r)
	case isSystem && isReset && r.Method == http.MethodPost:
		b.takeReset(w, r, id)
	case isSystem && !isReset && r.Method == http.MethodGet:
		b.show(w, id, System.resource)
	case isChassis && r.Method == http.MethodGet:
		b.show(w, chassis, System.chassis)
	case isSystem || isChassis:
		refuse(w, Refusal{Status: http.StatusMethodNotAllowed, MessageID: "Base.1.8.OperationNotAllowed", Message: "The HTTP method is not allowed on this resource."})
	default:
		refuse(w, missing)
	}
}

func (b *BMC) takeReset(w http.ResponseWriter, r *http.Request, id string) {
	var body struct{ ResetType string }
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil || json.Unmarshal(text, &body) != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		refuse(w, Refusal{Status: http.StatusBadRequest, MessageID: "Base.1.8.MalformedJSON", Message: "The request body is not JSON."})
		return
	}
	if no := b.reset(id, body.ResetType); no.Status != 0 {
		refuse(w, no)
		return
	}
	if !b.Tasks {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Location", root+"/TaskService/TaskMonitors/1")
	send(w, http.StatusAccepted, object{"@odata.id": root + "/TaskService/Tasks/1", "@odata.type": "#Task.v1_4_3.Task", "Id": "1", "TaskState": "New"})
}

func (b *BMC) accepted() int {
	if b.Tasks {
		return http.StatusAccepted
	}
	return http.StatusNoContent
}

func (b *BMC) list(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	ids := b.order
	b.mu.Unlock()
	page := object{"@odata.id": root + "/Systems", "@odata.type": "#ComputerSystemCollection.ComputerSystemCollection", "Members@odata.count": len(ids)}
	from, _ := strconv.Atoi(r.URL.Query().Get("$skip")) // 0 where there is none
	ids = ids[min(from, len(ids)):]
	if b.PageSize > 0 && len(ids) > b.PageSize {
		ids = ids[:b.PageSize]
		page["Members@odata.nextLink"] = fmt.Sprintf("%s/Systems?$skip=%d", root, from+b.PageSize)
	}
	members := []object{}
	for _, id := range ids {
		members = append(members, object{"@odata.id": root + "/Systems/" + id})
	}
	page["Members"] = members
	send(w, http.StatusOK, page)
}

func (b *BMC) show(w http.ResponseWriter, id string, as func(System) object) {
	b.mu.Lock()
	s := b.systems[id]
	if s == nil {
		b.mu.Unlock()
		refuse(w, missing)
		return
	}
	shown := *s
	b.mu.Unlock()
	if b.Show != nil {
		shown = b.Show(shown)
	}
	send(w, http.StatusOK, as(shown))
}

func refuse(w http.ResponseWriter, no Refusal) {
	for name, v := range map[string]string{"Retry-After": no.RetryAfter, "Location": no.Location} {
		if v != "" {
			w.Header().Set(name, v)
		}
	}
	if no.Body != "" {
		w.WriteHeader(no.Status)
		_, _ = io.WriteString(w, no.Body) // a client that has gone hears nothing
		return
	}
	send(w, no.Status, object{"error": object{
		"code": "Base.1.8.GeneralError", "message": "A general error has occurred. See Resolution for information on how to resolve the error.",
		"@Message.ExtendedInfo": []object{{"@odata.type": "#Message.v1_1_1.Message", "MessageId": no.MessageID, "Message": no.Message}},
	}})
}

func send(w http.ResponseWriter, status int, body any) {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("redfishtest: encode answer: %v", err))
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("OData-Version", "4.0")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone hears nothing
}
