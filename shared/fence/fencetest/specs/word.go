package specs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// Word is of a machine of two devices for which a person says from the beginning that it is off.
func Word() fencetest.Given { return said(Levels()) }

// WordRead is of such a machine that may be read and never switched.
func WordRead() fencetest.Given { return said(WaitForOff()) }

// WordIsolate is of such a machine whose node is only isolated.
func WordIsolate() fencetest.Given { return said(Isolate()) }

func said(s fencetest.Given) fencetest.Given {
	s.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "me", At: metav1.NewTime(fencetest.Start)}}
	return s
}
