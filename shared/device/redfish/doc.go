// Package redfish switches machines through their BMC by the Redfish API.
//
// What a reader must not get wrong: the machine is the one system that the parameters name,
// by its URI or its UUID, and never the only or the last system of a list. Only the power
// state Off is off; a system in PoweringOff still runs (S2: what is unknown is never taken
// for off).
package redfish
