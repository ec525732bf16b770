package ec2test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// version is that of the API.
const version = "2016-11-15"

// maxBody is more than any of these requests has.
const maxBody = 1 << 16

// ServeHTTP is the Query API: a form goes in, XML comes out. It accepts requests about one
// instance only.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client has gone
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("Version") != version {
		refuse(w, Refusal{http.StatusBadRequest, "InvalidParameterValue", "this is not a form of version " + version})
		return
	}
	if no := c.unsigned(r, bytes.NewReader(body)); no != (Refusal{}) {
		refuse(w, no)
		return
	}
	a := Action{
		Name: form.Get("Action"), Instance: form.Get("InstanceId.1"),
		DryRun: form.Get("DryRun") == "true",
		Force:  form.Get("Force") == "true", SkipOsShutdown: form.Get("SkipOsShutdown") == "true",
	}
	a.network(form)
	if form.Has("InstanceId.2") || form.Has("ResourceId.2") || !slices.Contains(names, a.Name) {
		refuse(w, Refusal{http.StatusBadRequest, "InvalidAction", "The action " + a.Name + " is not valid for this web service."})
		return
	}
	ch, no, then := c.do(a)
	then()
	switch {
	case no != (Refusal{}):
		refuse(w, no)
	case a.Name == "DescribeInstances":
		if c.Show != nil {
			ch.is = c.Show(ch.is)
		}
		answer(w, http.StatusOK, describing(ch.is))
	case a.Name != "StopInstances" && a.Name != "StartInstances":
		answer(w, http.StatusOK, done(a.Name))
	default:
		answer(w, http.StatusOK, changing(a.Name, ch))
	}
}

// names are the accepted requests.
var names = []string{"DescribeInstances", "StopInstances", "StartInstances", "ModifyNetworkInterfaceAttribute", "CreateTags", "DeleteTags"}

// requestID is constant: nothing here searches for it.
const requestID = "59dbff89-35bd-4eac-99ed-be587EXAMPLE"

const namespace = "http://ec2.amazonaws.com/doc/" + version + "/"

type stateXML struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

func stateOf(s State) stateXML { return stateXML{codes[s], string(s)} }

type instanceXML struct {
	ID       string    `xml:"instanceId"`
	State    *stateXML `xml:"instanceState,omitempty"`
	Zone     string    `xml:"placement>availabilityZone,omitempty"`
	Current  *stateXML `xml:"currentState,omitempty"`
	Previous *stateXML `xml:"previousState,omitempty"`
	Reason   string    `xml:"stateReason>code,omitempty"`

	Hibernates *bool `xml:"hibernationOptions>configured,omitempty"`

	Interfaces []interfaceXML `xml:"networkInterfaceSet>item,omitempty"`
	Tags       []tagXML       `xml:"tagSet>item,omitempty"`
}

type reservationXML struct {
	ID        string        `xml:"reservationId"`
	Owner     string        `xml:"ownerId"`
	Instances []instanceXML `xml:"instancesSet>item"`
}

type responseXML struct {
	XMLName      xml.Name
	RequestID    string           `xml:"requestId"`
	Reservations []reservationXML `xml:"reservationSet>item,omitempty"`
	Changed      []instanceXML    `xml:"instancesSet>item,omitempty"`
	Return       *bool            `xml:"return,omitempty"`
}

func describing(i Instance) responseXML {
	s := stateOf(i.State)
	return responseXML{
		XMLName: xml.Name{Space: namespace, Local: "DescribeInstancesResponse"}, RequestID: requestID,
		Reservations: []reservationXML{{
			ID: "r-1234567890abcdef0", Owner: "123456789012",
			Instances: []instanceXML{{ID: i.ID, State: &s, Reason: i.Reason, Hibernates: &i.Hibernates, Zone: i.Zone, Interfaces: interfacesOf(i), Tags: tagsOf(i)}},
		}},
	}
}

func changing(name string, ch change) responseXML {
	was, is := stateOf(ch.was.State), stateOf(ch.is.State)
	return responseXML{
		XMLName: xml.Name{Space: namespace, Local: name + "Response"}, RequestID: requestID,
		Changed: []instanceXML{{ID: ch.is.ID, Current: &is, Previous: &was}},
	}
}

type errorXML struct {
	XMLName   xml.Name `xml:"Response"`
	Code      string   `xml:"Errors>Error>Code"`
	Message   string   `xml:"Errors>Error>Message"`
	RequestID string   `xml:"RequestID"`
}

func refuse(w http.ResponseWriter, no Refusal) {
	answer(w, no.Status, errorXML{Code: no.Code, Message: no.Message, RequestID: requestID})
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := xml.MarshalIndent(body, "", "    ")
	if err != nil {
		panic(fmt.Sprintf("ec2test: encode answer: %v", err))
	}
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), text...)) // a client that has gone hears nothing
}
