package kube

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the API server answers a program that is newer than the kinds that are installed.

// unknownField is what the API server says of a field that it does not know, if it does. Of
// a patch it says that after the whole object.
func unknownField(err error) string {
	if !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err) {
		return ""
	}
	words := err.Error()
	if i := strings.LastIndex(words, "strict decoding error"); i >= 0 && strings.Contains(words[i:], "unknown field") {
		return words[i:]
	}
	return ""
}

// unknownValue is what the API server says of a value that is none of those it knows, such as
// a phase of a newer release, if it does.
func unknownValue(err error) string {
	var s apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &s) || s.Status().Details == nil {
		return ""
	}
	for _, c := range s.Status().Details.Causes {
		if c.Type == metav1.CauseTypeFieldValueNotSupported {
			return c.Field + ": " + c.Message
		}
	}
	return ""
}

// unserved: the path leads nowhere; if an object were missing, it would be named.
func unserved(err error) bool {
	var s apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &s) && (s.Status().Details == nil || s.Status().Details.Name == "")
}
