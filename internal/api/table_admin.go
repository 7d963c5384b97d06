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

// clusterAPIs are the APIs of where partitions lie and who leads them, as
// Kafka's tools ask for them.
func clusterAPIs() []API {
	return []API{
		alterReplicaLogDirsAPI(),
		describeLogDirsAPI(),
		electLeadersAPI(),
		alterPartitionAssignmentsAPI(),
		listPartitionReassignmentsAPI(),
		describeQuorumAPI(),
		updateFeaturesAPI(),
		describeProducersAPI(),
		listConfigResourcesAPI(),
		describeTopicPartitionsAPI(),
	}
}
