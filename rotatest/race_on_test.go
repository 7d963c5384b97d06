//go:build race

package rotatest_test

// startLimit is what a start may take, with the race detector's instruments.
const startLimit = 100 * startGoal
