package record

import (
	"errors"
	"testing"
)

func marker(t *testing.T, kind ControlType, epoch int32) []byte {
	t.Helper()
	var b Builder
	b.Reset(nil)
	b.SetProducer(7, 3, None)
	b.AppendMarker(1000, Marker{kind, epoch})
	return b.Finish()
}

func TestMarkerOf(t *testing.T) {
	if m, ok, err := MarkerOf(marker(t, ControlCommit, 9)); err != nil || !ok || m != (Marker{ControlCommit, 9}) {
		t.Errorf("commit marker: %+v %t %v", m, ok, err)
	}
	if m, ok, err := MarkerOf(marker(t, ControlAbort, 0)); err != nil || !ok || m != (Marker{ControlAbort, 0}) {
		t.Errorf("abort marker: %+v %t %v", m, ok, err)
	}
	if _, ok, err := MarkerOf(marker(t, 77, 0)); err != nil || ok {
		t.Errorf("another control record: %t %v", ok, err)
	}
	empty := appendEmpty(nil, mustHeader(t, marker(t, ControlCommit, 9)))
	if _, ok, err := MarkerOf(empty); err != nil || ok {
		t.Errorf("no record left: %t %v", ok, err)
	}

	var b Builder
	b.Reset(nil)
	b.Append(1000, []byte("key"), []byte("value"))
	data := b.Finish()
	compressed := marker(t, ControlCommit, 9)
	compressed[atAttributes+1] |= byte(Zstd)
	for name, batch := range map[string][]byte{"data": data, "compressed": compressed, "cut off": data[:20]} {
		if _, ok, err := MarkerOf(batch); err == nil || ok {
			t.Errorf("%s: %t %v", name, ok, err)
		}
	}
	broken := marker(t, ControlCommit, 9)
	broken[HeaderSize] = 1
	if _, _, err := MarkerOf(broken); !errors.Is(err, ErrInvalid) {
		t.Errorf("a record that cannot be: %v", err)
	}
}

func TestDateMarksTheHorizonOnce(t *testing.T) {
	batch := marker(t, ControlAbort, 5)
	thin := Thinner{Codec: new(Codec), Horizon: None}
	if out, err := thin.Date([]byte("front"), batch); err != nil || string(out) != "front"+string(batch) {
		t.Errorf("without a horizon: %x, %v", out, err)
	}
	thin.Horizon = 90_000
	once, err := thin.Date(nil, batch)
	if err != nil {
		t.Fatal(err)
	}
	h := mustHeader(t, once)
	if !h.Attributes.DeleteHorizon() || h.BaseTimestamp != 90_000 || h.MaxTimestamp != 1000 || !CheckCRC(once) {
		t.Errorf("header %+v", h)
	}
	v, err := Verify(once, Rules{}, nil)
	if err != nil || v.MinTimestamp != 1000 || v.MaxTimestamp != 1000 {
		t.Errorf("records: %+v, %v", v, err)
	}
	if m, ok, err := MarkerOf(once); err != nil || !ok || m != (Marker{ControlAbort, 5}) {
		t.Errorf("marker: %+v %t %v", m, ok, err)
	}
	thin.Horizon = 95_000
	if twice, err := thin.Date(nil, once); err != nil || string(twice) != string(once) {
		t.Errorf("moved the horizon: %v", err)
	}
}
