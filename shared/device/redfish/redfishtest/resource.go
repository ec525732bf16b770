package redfishtest

// object is a JSON object.
type object = map[string]any

func service() object {
	return object{
		"@odata.id": root + "/", "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot", "Id": "RootService", "Name": "Root Service",
		"RedfishVersion": "1.11.0",
		"Systems":        object{"@odata.id": root + "/Systems"},
		"Chassis":        object{"@odata.id": root + "/Chassis"},
		"SessionService": object{"@odata.id": root + "/SessionService"},
		"Links":          object{"Sessions": object{"@odata.id": sessions}},
	}
}

func (s System) resource() object {
	uri := root + "/Systems/" + s.ID
	reset := object{"target": uri + "/Actions/ComputerSystem.Reset"}
	if s.Target != "" {
		reset["target"] = s.Target
	}
	if s.Resets != nil {
		reset["ResetType@Redfish.AllowableValues"] = s.Resets
	}
	o := object{
		"@odata.id": uri, "@odata.type": "#ComputerSystem.v1_13_0.ComputerSystem", "Id": s.ID, "Name": "system " + s.ID,
		"SystemType": "Physical", "PowerState": text(s.Power), "UUID": text(s.UUID), "Status": object{"State": s.State, "Health": "OK"},
		"Actions": object{"#ComputerSystem.Reset": reset},
	}
	if s.Type != "" {
		o["@odata.type"] = s.Type
	}
	return o
}

// chassis is the case around a system, which has a power state as well.
func (s System) chassis() object {
	return object{
		"@odata.id": root + "/Chassis/" + s.ID, "@odata.type": "#Chassis.v1_14_0.Chassis", "Id": s.ID, "Name": "chassis " + s.ID,
		"ChassisType": "RackMount", "PowerState": text(s.Power), "UUID": text(s.UUID), "Status": object{"State": s.State, "Health": "OK"},
	}
}

// text is null for an empty text.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
