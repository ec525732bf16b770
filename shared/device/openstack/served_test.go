package openstack_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/openstack"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

const (
	uuid     = "00112233-4455-6677-8899-aabbccddeeff"
	another  = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	user     = "fence"
	password = "hunter-2-hunter"
	token    = "gAAAAABEXAMPLETOKEN"
	login    = "POST /identity/v3/auth/tokens"
	read     = "GET /compute/v2.1/servers/" + uuid
	action   = "POST /compute/v2.1/servers/" + uuid + "/action"
	services = "GET /compute/v2.1/os-services"
)

// served is a project with one server on one host.
type served struct {
	*resttest.Cloud
	// change the answers.
	change  func(server map[string]any)
	service map[string]any
	catalog []map[string]any
}

func serve(t testing.TB) *served {
	t.Helper()
	s := &served{Cloud: resttest.New(t), service: map[string]any{"host": "compute-3", "state": "up", "status": "enabled", "forced_down": false}}
	s.API, s.Command = s.answer, command
	s.catalog = []map[string]any{
		{"type": "identity", "endpoints": []map[string]string{{"interface": "public", "region": "one", "url": s.URL + "/identity"}}},
		{"type": "compute", "endpoints": []map[string]string{
			{"interface": "internal", "region": "one", "url": "http://10.0.0.1/compute"},
			{"interface": "public", "region": "one", "url": s.URL + "/compute/v2.1"},
		}},
	}
	return s
}

// command reads an action and leaves it to be read again.
func command(r *http.Request) string {
	if r.Method+" "+r.URL.Path != action {
		return ""
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var what map[string]any
	if json.Unmarshal(body, &what) != nil || len(what) != 1 {
		return "what"
	}
	for name := range what {
		if word := map[string]string{"os-stop": "off", "os-start": "on"}[name]; word != "" {
			return word
		}
	}
	return "what"
}

func (s *served) answer(w http.ResponseWriter, r *http.Request) {
	request := r.Method + " " + r.URL.Path
	word := s.Command(r)
	switch {
	case request == login:
		s.login(w, r)
	case r.Header.Get("X-Auth-Token") != token:
		resttest.JSON(w, 401, map[string]any{"error": map[string]any{"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}})
	case request == read:
		resttest.JSON(w, 200, map[string]any{"server": s.server(r)})
	case request == services:
		var all []any
		if r.URL.Query().Get("host") == s.service["host"] && r.URL.Query().Get("binary") == "nova-compute" {
			all = append(all, s.service)
		}
		resttest.JSON(w, 200, map[string]any{"services": all})
	case word == "off" && s.Is(devicetest.Refuse), word != "" && s.Is(devicetest.Mute), s.so(word):
		fault(w, 409, "conflictingRequest", "Cannot 'stop' instance "+uuid+" while it is in this state")
	case word != "":
		s.Power(word)
		w.WriteHeader(http.StatusAccepted)
	default:
		fault(w, 404, "itemNotFound", "Instance could not be found.")
	}
}

// so: Nova refuses what is so already.
func (s *served) so(word string) bool {
	return word == "off" && s.Shown() == resttest.Off || word == "on" && s.Shown() == resttest.On
}

func fault(w http.ResponseWriter, status int, name, text string) {
	resttest.JSON(w, status, map[string]any{name: map[string]any{"code": status, "message": text}})
}

// server is as Nova tells it to an administrator; the status of its host needs
// the microversion.
func (s *served) server(r *http.Request) map[string]any {
	it := map[string]any{
		"id": uuid, "status": "ACTIVE", "OS-EXT-STS:task_state": nil, "OS-EXT-STS:power_state": 1, "OS-EXT-SRV-ATTR:host": "compute-3",
	}
	if r.Header.Get("OpenStack-API-Version") == "compute 2.16" {
		it["host_status"] = "UP"
	}
	switch s.Shown() {
	case resttest.Off:
		it["status"], it["OS-EXT-STS:power_state"] = "SHUTOFF", 4
	case resttest.Stopping:
		it["OS-EXT-STS:task_state"] = "powering-off"
	}
	if s.Is(devicetest.Other) {
		it["id"] = another
	}
	if s.Is(devicetest.Mute) {
		it["host_status"] = "UNKNOWN"
	}
	if s.change != nil {
		s.change(it)
	}
	return it
}

func (s *served) login(w http.ResponseWriter, r *http.Request) {
	type name struct {
		Name   string
		Domain struct{ Name string }
	}
	var asked struct {
		Auth struct {
			Identity struct {
				Methods  []string
				Password struct {
					User struct {
						name
						Password string
					}
				}
			}
			Scope struct{ Project name }
		}
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	id := asked.Auth.Identity
	if err != nil || s.Is(devicetest.WrongPassword) || len(id.Methods) != 1 || id.Methods[0] != "password" ||
		id.Password.User.Name != user || id.Password.User.Domain.Name != "Default" || id.Password.User.Password != password ||
		asked.Auth.Scope.Project.Name != "cluster" || asked.Auth.Scope.Project.Domain.Name != "Default" {
		resttest.JSON(w, 401, map[string]any{"error": map[string]any{"code": 401, "title": "Unauthorized", "message": "Could not recognize " + id.Password.User.Password}})
		return
	}
	w.Header().Set("X-Subject-Token", token)
	resttest.JSON(w, 201, map[string]any{"token": map[string]any{"catalog": s.catalog}})
}

func dial(t testing.TB, url string, more map[string]string) device.Driver {
	t.Helper()
	p := map[string]string{"uuid": uuid, "auth_url": url + "/identity", "project_name": "cluster", "username": user, "password": password}
	maps.Copy(p, more)
	d, err := openstack.Kind().Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
