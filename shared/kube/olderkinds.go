package kube

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How the API server answers a program that is newer than the installed CRDs.

// unknownField is the API server's error about a field that it does not know, if it is one. About
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

// unknownValue is the API server's error about a value that it does not know, such as a phase of
// a newer release, if it is one.
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

// unserved tells whether the path is not served. If only an object were missing, the answer would
// name it.
func unserved(err error) bool {
	var s apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &s) && (s.Status().Details == nil || s.Status().Details.Name == "")
}
