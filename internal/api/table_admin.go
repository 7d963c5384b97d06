package api

// adminAPIs are the APIs of topics, records and configuration.
func adminAPIs() []API {
	return []API{
		createTopicsAPI(),
		deleteTopicsAPI(),
		deleteRecordsAPI(),
		describeConfigsAPI(),
		alterConfigsAPI(),
		createPartitionsAPI(),
		incrementalAlterConfigsAPI(),
		describeClusterAPI(),
	}
}
