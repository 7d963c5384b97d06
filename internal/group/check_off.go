//go:build !invariants

package group

// alwaysCheck makes every call end with a search for broken invariants.
const alwaysCheck = false
