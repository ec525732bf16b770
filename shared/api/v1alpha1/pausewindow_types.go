package v1alpha1

// PauseWindowRule is a time that comes again each day, or each week on some days,
// and within which no fence begins.
// +kubebuilder:validation:XValidation:rule="!self.duration.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self.duration) < duration('24h') || (has(self.days) && size(self.days) > 0 && size(self.days) < 7)",message="pauseWindows[] that lasts 24h or longer and begins every day never ends: write pauseRequests instead, or name its days"
type PauseWindowRule struct {
	// days are those on which the window starts, at most 7: Monday to Sunday. Every day
	// unless set.
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	// +optional
	Days []Weekday `json:"days,omitempty"`
	// start is the time of day, "HH:MM", as clocks in the time zone show it. If the clocks skip
	// this time, the window starts when they do; if they show it twice, the window starts both
	// times.
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	// +kubebuilder:validation:MaxLength=5
	// +required
	Start string `json:"start"`
	// duration is how long the window lasts, from 1m to 144h (six days): elapsed time, whatever
	// the clocks are set to meanwhile. The window may reach into the next days.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s)){1,3}$') || duration(self) >= duration('1m') && duration(self) <= duration('144h')",message="pauseWindows[].duration must be between 1m and 144h (six days)"
	// +required
	Duration Duration `json:"duration"`
	// timeZone is a name of the IANA database, such as Europe/Berlin, of at most 64 letters; UTC
	// by default. A name that is not known is reported in condition Accepted of the policy, and
	// no fence begins until it is corrected.
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
	// reason says why, in at most 256 letters, wherever a fence waits for the window's
	// end.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Monday;Tuesday;Wednesday;Thursday;Friday;Saturday;Sunday
type Weekday string
