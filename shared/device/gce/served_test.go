package gce_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/gce"
	"github.com/nodefence/nodefence/shared/device/rest/resttest"
)

const (
	name    = "worker-7"
	id      = "4187218726871263341"
	another = "7716236712361237712"
	email   = "fence@my-project.iam.gserviceaccount.com"
	token   = "ya29.EXAMPLE-TOKEN"
	base    = "/compute/v1/projects/my-project/zones/europe-west1-b"
	read    = "GET " + base + "/instances/" + name
	stop    = "POST " + base + "/instances/" + name + "/stop"
	start   = "POST " + base + "/instances/" + name + "/start"
)

// account is made once: RSA keys take their time.
var account = sync.OnceValues(func() (*rsa.PrivateKey, string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": email, "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		panic(err)
	}
	return key, string(text)
})

// served is a zone with one instance.
type served struct {
	*resttest.Cloud
	// status takes the place of what the instance's state stands for.
	status string
	// rights are what the account may do.
	rights []string
}

func serve(t testing.TB) *served {
	t.Helper()
	s := &served{Cloud: resttest.New(t)}
	s.API = s.answer
	s.Command = func(r *http.Request) string {
		return map[string]string{stop: "off", start: "on"}[r.Method+" "+r.URL.Path]
	}
	return s
}

var statuses = map[resttest.State]string{resttest.On: "RUNNING", resttest.Stopping: "STOPPING", resttest.Off: "TERMINATED"}

func (s *served) answer(w http.ResponseWriter, r *http.Request) {
	request := r.Method + " " + r.URL.Path
	switch {
	case request == "POST /token":
		s.token(w, r)
	case r.Header.Get("Authorization") != "Bearer "+token:
		fail(w, 401, "authError", "Invalid Credentials")
	case request == read && s.Is(devicetest.Mute):
		fail(w, 503, "backendError", "Backend Error")
	case request == read:
		it := map[string]string{"id": id, "name": name, "status": statuses[s.Shown()]}
		if s.Is(devicetest.Other) {
			it["id"] = another
		}
		if s.status != "" {
			it["status"] = s.status
		}
		resttest.JSON(w, 200, it)
	case request == "POST "+base+"/instances/"+name+"/testIamPermissions":
		s.granted(w, r)
	case s.Command(r) == "off" && s.Is(devicetest.Refuse, devicetest.Mute):
		fail(w, 400, "resourceNotReady", "The resource '"+name+"' is not ready")
	case s.Command(r) != "":
		s.Power(s.Command(r))
		resttest.JSON(w, 200, map[string]string{"name": "operation-1", "status": "RUNNING"})
	case request == "GET "+base+"/operations/operation-1":
		resttest.JSON(w, 200, map[string]string{"name": "operation-1", "status": "DONE"})
	default:
		fail(w, 404, "notFound", "The resource was not found")
	}
}

// granted are those of the rights in question that the account has.
func (s *served) granted(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Permissions []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Permissions) == 0 {
		fail(w, 400, "invalid", "no permissions")
		return
	}
	has := map[string][]string{}
	for _, p := range asked.Permissions {
		if slices.Contains(s.rights, p) {
			has["permissions"] = append(has["permissions"], p)
		}
	}
	resttest.JSON(w, 200, has)
}

// token lets in who signed with the account's key, now and for this server.
func (s *served) token(w http.ResponseWriter, r *http.Request) {
	key, _ := account()
	part := strings.Split(r.FormValue("assertion"), ".")
	refuse := func() {
		resttest.JSON(w, 400, map[string]string{"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
	}
	if len(part) != 3 || r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || s.Is(devicetest.WrongPassword) {
		refuse()
		return
	}
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	sig, _ := base64.RawURLEncoding.DecodeString(part[2])
	body, _ := base64.RawURLEncoding.DecodeString(part[1])
	var claims struct {
		Iss, Aud, Scope string
		Iat, Exp        int64
	}
	now := time.Now().Unix()
	if json.Unmarshal(body, &claims) != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], sig) != nil ||
		claims.Iss != email || claims.Aud != s.URL+"/token" || claims.Iat > now || claims.Exp < now || claims.Exp > now+3600 ||
		claims.Scope != "https://www.googleapis.com/auth/compute" {
		refuse()
		return
	}
	resttest.JSON(w, 200, map[string]any{"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
}

func fail(w http.ResponseWriter, status int, reason, text string) {
	resttest.JSON(w, status, map[string]any{"error": map[string]any{
		"code": status, "message": text, "errors": []map[string]string{{"message": text, "domain": "global", "reason": reason}},
	}})
}

func dial(t testing.TB, url string, more map[string]string) device.Driver {
	t.Helper()
	return dialAs(t, gce.Metadata, url, more)
}

// dialAs is of a process that asks this host who it is.
func dialAs(t testing.TB, metadata, url string, more map[string]string) device.Driver {
	t.Helper()
	_, key := account()
	p := map[string]string{
		"project": "my-project", "zone": "europe-west1-b", "instance": name, "key": key,
		"endpoint": url, "token_uri": url + "/token",
	}
	maps.Copy(p, more)
	d, err := gce.Kind(metadata).Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
