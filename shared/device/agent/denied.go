package agent

import "strings"

// The reasons for which a parameter of an agent is refused.
const (
	runs     = "it names a program or a command, and nodefence runs no programs that a configuration names"
	writes   = "it names a file that the agent writes"
	shows    = "what the agent would say then may have secrets in it"
	lies     = "the agent would say off, or that it is done, when the machine may still run"
	others   = "it is another way to say which machine is meant, and two readings are refused"
	ours     = "nodefence sets it itself"
	nothing  = "the agent would do something else than to switch a machine"
	sideways = "it switches something else than the machine's power"
)

// deniedNames are parameters that may be given to no agent, or not to one agent.
var deniedNames = map[string]string{
	"action": ours, "option": ours, "delay": ours, "power_wait": ours, "retry_on": ours,
	"stonith_status_sleep": ours, "separator": ours, "plug_separator": ours,
	"power_timeout": ours, "disable_timeout": ours, "quiet": ours,

	"cmd_prompt": runs, "command_prompt": runs, "exec": runs, "sudo": runs, "use_sudo": runs, "ssh_options": runs,
	"runonfail": runs, "runonwarn": runs, "openrc": runs, "kubeconfig": runs,
	"identity_file": "it names a file, and with its own SSH configuration the agent would run what stands there; use a password from a Secret",

	"cookie_file": writes, "logfile": writes, "status_file": writes, "token_file": writes, "use_cookies": writes,
	"stackdriver_logging": "it sends what the agent does to somebody else",
	"boot_option":         "it changes how the machine boots",

	"debug": shows, "debug_file": shows, "verbose": shows, "verbose_level": shows, "boto3_debug": shows,

	"missing_as_off": lies, "earlyexit": lies, "warntimeout": lies,
	"baremetalsolution": lies, "fence_rhevm api_version": lies + "; the agent finds the version by itself",
	"method":           "nodefence switches off, sees it, and switches on; write method=onoff, or leave it out",
	"fence_cdu switch": "it has no effect on what the agent reads",

	"network_fencing": sideways,
	"help":            nothing, "usage": nothing, "version": nothing,

	"suppress_errors": lies,

	"port_as_ip": others, "plugzonemap": others, "uuid": others, "nodename": others, "key": others, "key_value": others,
}

// denied tells why a parameter is refused; empty if it is not.
func denied(agent, name string) string {
	for _, n := range []string{name, agent + " " + name} {
		if why, ok := deniedNames[n]; ok {
			return why
		}
	}
	switch {
	case name == "api_path": // of a URL
		return ""
	case strings.HasSuffix(name, "_path"), strings.HasSuffix(name, "_script"), strings.HasSuffix(name, "_cmd"), strings.HasSuffix(name, "_command"):
		return runs
	case strings.HasPrefix(name, "debug_"), strings.HasPrefix(name, "verbose_"):
		return shows
	}
	return ""
}
