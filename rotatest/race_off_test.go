//go:build !race

package rotatest_test

// startLimit is what a start may take.
const startLimit = startGoal
