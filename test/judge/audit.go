package judge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// auditEvent has the fields of an audit.k8s.io/v1 Event for the rules.
type auditEvent struct {
	Kind             string
	Stage            string
	Verb             string
	RequestURI       string
	User             struct{ Username string }
	ImpersonatedUser *struct{ Username string }
	UserAgent        string
	ObjectRef        *struct {
		Resource, Subresource, Namespace, Name string
	}
	ResponseStatus                           *struct{ Code int }
	RequestObject, ResponseObject            json.RawMessage
	RequestReceivedTimestamp, StageTimestamp time.Time
}

// restored is the kind of the lab's own line in the log: a restore took resourceVersions back.
const restored = "Restored"

// ReadAudit adds the successful writes of an audit log. The logs of one API server are read oldest first.
func (h *History) ReadAudit(name string, from io.Reader) error {
	return readLines(name, from, func(line Line, text []byte) error {
		var e auditEvent
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		if e.Kind == restored {
			h.epoch++
			return nil
		}
		if !e.wrote() {
			return nil
		}
		if e.Verb == "deletecollection" {
			h.addCollection(&e, line)
			return nil
		}
		h.addWrite(e.write(line, h.epoch))
		return nil
	})
}

// addCollection adds the deletion of a collection as the deletion of each object in the answer.
func (h *History) addCollection(e *auditEvent, line Line) {
	var answer struct {
		Kind  string
		Items []json.RawMessage
	}
	if json.Unmarshal(e.ResponseObject, &answer) != nil || !strings.HasSuffix(answer.Kind, "List") {
		h.Gaps = append(h.Gaps, fmt.Sprintf("a deletion of all %s by %s (%s): the log does not have the objects", e.ObjectRef.Resource, e.writer(), line))
		return
	}
	for _, item := range answer.Items {
		one, ref := *e, *e.ObjectRef
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(item, &object) != nil {
			continue
		}
		one.Verb, one.ObjectRef, one.ResponseObject = "delete", &ref, item
		ref.Name, ref.Namespace = object.Name, object.Namespace
		h.addWrite(one.write(line, h.epoch))
	}
}

// wrote reports whether the request has changed an object, as far as the log tells.
func (e *auditEvent) wrote() bool {
	return e.ObjectRef != nil && e.Stage == "ResponseComplete" && e.ResponseStatus != nil && e.ResponseStatus.Code < http.StatusMultipleChoices &&
		!strings.Contains(e.RequestURI, "dryRun=")
}

func (e *auditEvent) write(line Line, epoch int) Write {
	w := Write{
		Line: line, Received: e.RequestReceivedTimestamp, Done: e.StageTimestamp, Epoch: epoch, Verb: e.Verb,
		Resource: e.ObjectRef.Resource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		User: e.writer(), Agent: e.UserAgent, Request: e.RequestObject, Object: e.ResponseObject,
	}
	if e.ObjectRef.Subresource != "" {
		w.Resource += "/" + e.ObjectRef.Subresource
	}
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(e.ResponseObject, &object) != nil || object.Kind == "Status" {
		return w
	}
	if w.Name == "" {
		w.Name = object.Name // the API server made the name
	}
	if w.Removes = removesObject(w.Verb, &object); !w.Removes { // a removal is answered with the last version
		w.Version, _ = strconv.ParseUint(object.ResourceVersion, 10, 64)
	}
	return w
}

// writer is the authenticated user, or the impersonated one.
func (e *auditEvent) writer() string {
	if e.ImpersonatedUser != nil {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// removesObject reports whether an object is gone with a write. A deleted object stays until its finalizers are
// off.
func removesObject(verb string, object *metav1.PartialObjectMetadata) bool {
	if object.DeletionTimestamp == nil {
		return verb == "delete"
	}
	return len(object.Finalizers) == 0
}

// longestLine bounds a line of a log: an object of 3 MiB, twice, and more.
const longestLine = 16 << 20

// readLines calls take with each line. A last line without an end is still being written, and is left out.
func readLines(name string, from io.Reader, take func(Line, []byte) error) error {
	r := bufio.NewReaderSize(from, 1<<20)
	for number := 1; ; number++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = take(Line{name, number}, text)
		}
		if err != nil {
			return fmt.Errorf("read %s:%d: %w", name, number, err)
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadBytes('\n')
	text = bytes.TrimLeft(text, "\x00") // the log was cut while its writer went on
	if len(text) > longestLine {
		return nil, fmt.Errorf("the line has more than %d bytes", longestLine)
	}
	return text, err
}
