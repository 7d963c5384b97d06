package rotatest

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusal is the response to a request that says the error wherever it can: of
// each thing that the request names, or else of the request as a whole.
func refusal(req kmsg.Request, err *kerr.Error) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if f, ok := req.(*kmsg.FindCoordinatorRequest); ok {
		refuseCoordinators(f, resp, err)
		return resp
	}
	to := reflect.ValueOf(resp).Elem()
	if !refuseEach(reflect.ValueOf(req).Elem(), to, err) {
		setCode(to, err)
	}
	return resp
}

// refuseCoordinators is its own case: requests name keys and responses
// coordinators.
func refuseCoordinators(req *kmsg.FindCoordinatorRequest, resp kmsg.Response, err *kerr.Error) {
	r, ok := resp.(*kmsg.FindCoordinatorResponse)
	if !ok {
		return
	}
	r.ErrorCode = err.Code
	for _, key := range req.CoordinatorKeys {
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.NodeID = key, err.Code, -1
		r.Coordinators = append(r.Coordinators, c)
	}
}

// refuseEach fills in those arrays of the response that the request has too,
// and reports whether an error got into them.
func refuseEach(from, to reflect.Value, err *kerr.Error) bool {
	told := false
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		source, target := from.FieldByName(name), to.Field(i)
		if !source.IsValid() || source.Kind() != reflect.Slice || target.Kind() != reflect.Slice ||
			target.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for k := range source.Len() {
			item := reflect.New(target.Type().Elem())
			if d, ok := reflect.TypeAssert[interface{ Default() }](item); ok {
				d.Default()
			}
			item = item.Elem()
			told = refuseOne(source.Index(k), item, err) || told
			target.Set(reflect.Append(target, item))
		}
	}
	return told
}

// refuseOne fills in one element: its name, and the error, there or further in.
func refuseOne(from, to reflect.Value, err *kerr.Error) bool {
	if from.Kind() != reflect.Struct {
		// The request lists bare names: they are the element's first field.
		if f := to.Field(0); from.Type().AssignableTo(f.Type()) {
			f.Set(from)
		}
		return setCode(to, err)
	}
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if f := from.FieldByName(name); f.IsValid() && f.Kind() != reflect.Slice && f.Type().AssignableTo(to.Field(i).Type()) {
			to.Field(i).Set(f)
		}
	}
	if setCode(to, err) {
		return true
	}
	return refuseEach(from, to, err)
}

func setCode(v reflect.Value, err *kerr.Error) bool {
	f := v.FieldByName("ErrorCode")
	if !f.IsValid() || f.Kind() != reflect.Int16 {
		return false
	}
	f.SetInt(int64(err.Code))
	return true
}
