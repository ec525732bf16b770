package v1alpha1

// LastError is what a look or an action of a fence ran into. It is written at most every half
// minute, however often that fails.
type LastError struct {
	// action is the action that failed, as in the log, or Look: 1 to 64 letters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Action string `json:"action"`
	// message is the error in words.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Message string `json:"message"`
	// since is when this action failed first, with no success in between, by the API server's
	// clock.
	// +required
	Since Time `json:"since"`
	// at is when it failed last, as far as that was written.
	// +required
	At Time `json:"at"`
	// count is how many of these failures were written: at least so many there were.
	// +kubebuilder:validation:Minimum=1
	// +required
	Count int32 `json:"count"`
}

// LookFailed is the action of a LastError that is about a look.
const LookFailed = "Look"
