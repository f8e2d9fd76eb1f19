package sim

// Where things are at a standard BMC.
const (
	systemURI       = systemsURI + "/1"
	resetURI        = systemURI + "/Actions/ComputerSystem.Reset"
	biosURI         = systemURI + "/Bios"
	processorsURI   = systemURI + "/Processors"
	controllerURI   = systemURI + "/Storage/1"
	drivesURI       = controllerURI + "/Drives"
	volumesURI      = controllerURI + "/Volumes"
	managerURI      = managersURI + "/1"
	managerResetURI = managerURI + "/Actions/Manager.Reset"
	managerNICsURI  = managerURI + "/EthernetInterfaces"
	chassisURI      = chassisListURI + "/1"
)
