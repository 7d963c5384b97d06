package api

// groupAPIs are the APIs of the group coordinator.
func groupAPIs() []API {
	return []API{}
}
