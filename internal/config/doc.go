// Package config puts together what a broker is told at its start: flags above
// environment variables above a YAML file above defaults. All layers merge, the
// higher one wins for each value by itself, and what nobody knows is refused.
//
// It decides and opens nothing but the file. Start reading at Load.
package config
