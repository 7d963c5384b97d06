package api

// securityAPIs are the APIs of users, permissions and quotas: what there is to
// say about them as long as there are none.
func securityAPIs() []API {
	return []API{
		describeACLsAPI(),
		createACLsAPI(),
		deleteACLsAPI(),
		describeClientQuotasAPI(),
		describeUserSCRAMCredentialsAPI(),
	}
}
