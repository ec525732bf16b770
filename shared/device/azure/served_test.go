package azure_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/azure"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

const (
	subscription = "11111111-2222-3333-4444-555555555555"
	group        = "rg-cluster"
	name         = "worker-7"
	vmID         = "00112233-4455-6677-8899-aabbccddeeff"
	another      = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	client       = "99999999-8888-7777-6666-555555555555"
	secret       = "Ab8Q~hunter+2/hunter"
	token        = "eyJ0eXAi.EXAMPLE.TOKEN"
	base         = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/virtualMachines/" + name
	read         = "GET " + base
	off          = "POST " + base + "/powerOff"
	on           = "POST " + base + "/start"
)

// served is a subscription with one machine. Requests are read, and answers
// written, by the fake of Azure's own SDK; tokens are ours.
type served struct {
	*resttest.Cloud
	// codes take the place of the machine's power state.
	codes []string
	// permissions are pages of what the account may do.
	permissions []string
	// operation is where a command goes on, if it does.
	operation string
}

func serve(t testing.TB) *served {
	t.Helper()
	s := &served{Cloud: resttest.New(t)}
	s.API = s.answer
	s.Command = func(r *http.Request) string { return map[string]string{off: "off", on: "on"}[r.Method+" "+r.URL.Path] }
	return s
}

var powers = map[resttest.State]string{resttest.On: "PowerState/running", resttest.Stopping: "PowerState/stopping", resttest.Off: "PowerState/stopped"}

func (s *served) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method+" "+r.URL.Path == "POST /my-tenant/oauth2/v2.0/token" {
		s.token(w, r)
		return
	}
	api := map[string]string{read: "VirtualMachinesClient.Get", off: "VirtualMachinesClient.BeginPowerOff", on: "VirtualMachinesClient.BeginStart"}[r.Method+" "+r.URL.Path]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		fail(w, 401, "InvalidAuthenticationToken", "The access token is invalid.")
	case r.URL.Query().Get("api-version") == "":
		fail(w, 400, "MissingApiVersionParameter", "The api-version query parameter is required.")
	case r.Method+" "+r.URL.Path == read+"/providers/Microsoft.Authorization/permissions" && len(s.permissions) > 0:
		page := s.permissions[0]
		s.permissions = s.permissions[1:]
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(page, "{at}", s.URL+r.URL.Path))
	case api == "":
		fail(w, 404, "ResourceNotFound", "The Resource was not found.")
	case s.Command(r) == "off" && s.Is(devicetest.Refuse), s.Command(r) != "" && s.Is(devicetest.Mute):
		fail(w, 409, "OperationNotAllowed", "Operation is not allowed now.")
	default:
		s.forward(w, r.WithContext(context.WithValue(r.Context(), runtime.CtxAPINameKey{}, api)))
	}
}

func (s *served) forward(w http.ResponseWriter, r *http.Request) {
	resp, err := fake.NewVirtualMachinesServerTransport(s.fake()).Do(r)
	if err != nil {
		fail(w, 500, "TheFakeSays", err.Error())
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if s.operation != "" && s.Command(r) != "" {
		w.Header().Set("Azure-AsyncOperation", s.operation)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // who went away hears nothing
}

// fake is one machine for the SDK's fake.
func (s *served) fake() *fake.VirtualMachinesServer {
	return &fake.VirtualMachinesServer{
		Get: func(_ context.Context, g, vm string, o *armcompute.VirtualMachinesClientGetOptions) (resp azfake.Responder[armcompute.VirtualMachinesClientGetResponse], no azfake.ErrorResponder) {
			id := vmID
			if s.Is(devicetest.Other) {
				id = another
			}
			it := armcompute.VirtualMachine{Name: &vm, Properties: &armcompute.VirtualMachineProperties{VMID: &id}}
			if g == group && o != nil && o.Expand != nil && *o.Expand == armcompute.InstanceViewTypesInstanceView {
				it.Properties.InstanceView = &armcompute.VirtualMachineInstanceView{Statuses: s.statuses()}
			}
			resp.SetResponse(http.StatusOK, armcompute.VirtualMachinesClientGetResponse{VirtualMachine: it}, nil)
			return resp, no
		},
		BeginPowerOff: func(_ context.Context, _, _ string, o *armcompute.VirtualMachinesClientBeginPowerOffOptions) (resp azfake.PollerResponder[armcompute.VirtualMachinesClientPowerOffResponse], no azfake.ErrorResponder) {
			if o == nil || o.SkipShutdown == nil || !*o.SkipShutdown {
				s.Power("shutdown")
			} else {
				s.Power("off")
			}
			resp.AddNonTerminalResponse(http.StatusAccepted, nil)
			return resp, no
		},
		BeginStart: func(context.Context, string, string, *armcompute.VirtualMachinesClientBeginStartOptions) (resp azfake.PollerResponder[armcompute.VirtualMachinesClientStartResponse], no azfake.ErrorResponder) {
			s.Power("on")
			resp.AddNonTerminalResponse(http.StatusAccepted, nil)
			return resp, no
		},
	}
}

func (s *served) statuses() []*armcompute.InstanceViewStatus {
	codes := []string{"ProvisioningState/succeeded", powers[s.Shown()]}
	if s.Is(devicetest.Mute) {
		codes = codes[:1]
	}
	if s.codes != nil {
		codes = s.codes
	}
	var all []*armcompute.InstanceViewStatus
	for _, c := range codes {
		all = append(all, &armcompute.InstanceViewStatus{Code: &c})
	}
	return all
}

// token lets in the application.
func (s *served) token(w http.ResponseWriter, r *http.Request) {
	if s.Is(devicetest.WrongPassword) || r.FormValue("grant_type") != "client_credentials" || r.FormValue("client_id") != client ||
		r.FormValue("client_secret") != secret || !strings.HasSuffix(r.FormValue("scope"), "/.default") {
		resttest.JSON(w, 401, map[string]string{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided: " + r.FormValue("client_secret")})
		return
	}
	resttest.JSON(w, 200, map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": token})
}

func fail(w http.ResponseWriter, status int, code, text string) {
	resttest.JSON(w, status, map[string]any{"error": map[string]string{"code": code, "message": text}})
}

func dial(t testing.TB, url string, more map[string]string) device.Driver {
	t.Helper()
	p := map[string]string{
		"subscriptionId": subscription, "resourceGroup": group, "vm": name, "tenantId": "my-tenant",
		"username": client, "password": secret, "endpoint": url, "authority": url,
	}
	maps.Copy(p, more)
	d, err := azure.Kind().Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
