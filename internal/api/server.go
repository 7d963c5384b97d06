package api

// Server is what handlers work on.
type Server struct{}
