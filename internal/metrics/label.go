package metrics

import "rota/internal/display"

// label is an id as a label: Prometheus refuses what is no UTF-8, and ids of
// 32 KiB are of use to nobody.
func label(id string) string { return display.One(id, 256) }
