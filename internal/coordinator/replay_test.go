package coordinator

import (
	"testing"

	"rota/internal/record"
)

func header(t *testing.T, batch []byte) record.Header {
	t.Helper()
	h, err := record.ParseHeader(batch)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
