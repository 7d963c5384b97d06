// Package explore looks at everything that can happen to a consumer group.
//
// It takes the pure rules of package group and a world around them that is
// small enough to be looked at as a whole: two or three clients, each with a
// handful of requests that it may send at any moment, whether they make sense
// or not; a clock that goes in steps; a log that is durable when the search
// says so, or fails. Breadth first it follows every order in which these can
// happen, and visits each state once: two states are one if they differ only in
// the time of the day, the numbers of generations and the names of members.
//
// In every state it checks what must always hold (see model.go and check.go),
// and from a sample of them it lets everybody behave: the group must become
// Stable with all of them in it, and stay so.
//
// What it finds wrong comes with the shortest way there, as a scenario that
// package scenario plays.
//
// The package also writes three pages of the documentation: which rows of the
// protocol's tables are reached by what (COVERAGE.md), which public fault report
// is replayed by what (REPORTS.md), and what becomes of a coordinator that is
// broken on purpose (MUTATIONS.md).
//
// Start reading at worlds.go, then world.go.
package explore
