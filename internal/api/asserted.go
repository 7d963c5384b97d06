package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// requestOf returns the request of a call, which is a T because the table says
// so: the connection decodes what its row names.
func requestOf[T kmsg.Request](c *Call) T {
	req, ok := c.Request.(T)
	if !ok {
		panic(fmt.Sprintf("api: the call holds a %T", c.Request))
	}
	return req
}

// answerOf returns what a group answered, which is a T because it was asked for
// that.
func answerOf[T group.Response](r group.Response) T {
	answer, ok := r.(T)
	if !ok {
		panic(fmt.Sprintf("api: the group answered with a %T", r))
	}
	return answer
}
