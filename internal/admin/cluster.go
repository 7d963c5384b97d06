package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Config says how to reach a cluster.
type Config struct {
	// Brokers are the addresses to try, host:port.
	Brokers []string
	// Timeout bounds connecting, and each request with its retries.
	Timeout time.Duration
	// Options are further options of the client.
	Options []kgo.Opt
}

// Cluster is a connection to a cluster.
type Cluster struct {
	client  *kgo.Client
	timeout time.Duration
}

// UnreachableError says that no broker answers.
type UnreachableError struct {
	Brokers []string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no broker answers at %v: %v", e.Brokers, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// RefusedError is a request that the cluster has refused.
type RefusedError struct {
	// What was asked for, as the object of a sentence.
	What string
	// Err is Kafka's error.
	Err *kerr.Error
	// Message is the cluster's own explanation, often empty.
	Message string
}

func (e *RefusedError) Error() string {
	text := e.Message
	if text == "" {
		text = e.Err.Description
	}
	return fmt.Sprintf("%s: %s (%s)", e.What, text, e.Err.Message)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// refused turns an error code into a *RefusedError, nil for 0.
func refused(code int16, message *string, what string, args ...any) error {
	if code == 0 {
		return nil
	}
	err := kerr.TypedErrorForCode(code)
	if err == nil {
		err = kerr.UnknownServerError
	}
	r := &RefusedError{What: fmt.Sprintf(what, args...), Err: err}
	if message != nil {
		r.Message = *message
	}
	return r
}

// Open connects to the first broker that answers. Errors: *UnreachableError.
func Open(ctx context.Context, c Config) (*Cluster, error) {
	// Their next versions name topics by id only, which would cost another lookup.
	versions := kversion.Tip()
	versions.SetMaxKeyVersion(kmsg.OffsetFetch.Int16(), 9)
	versions.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), 9)
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID("rota"), kgo.MaxVersions(versions), kgo.DisableClientMetrics(),
		kgo.DialTimeout(c.Timeout), kgo.RetryTimeout(c.Timeout), kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(500 * time.Millisecond),
	}, c.Options...)...)
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{client: client, timeout: c.Timeout}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := client.Ping(limited); err != nil {
		client.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &UnreachableError{c.Brokers, err}
	}
	return cluster, nil
}

// Close ends the connections. A member of a group leaves it.
func (c *Cluster) Close() { c.client.Close() }

// Client is the connection, for producing and consuming.
func (c *Cluster) Client() *kgo.Client { return c.client }

// onlyBroker is the broker of a cluster that has no other.
func (c *Cluster) onlyBroker(ctx context.Context) (node int32, alone bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none: nil would be all
	resp, err := ask[*kmsg.MetadataResponse](ctx, c, req)
	if err != nil || len(resp.Brokers) != 1 {
		return 0, false, err
	}
	return resp.Brokers[0].NodeID, true, nil
}

// ask sends a request where the client finds it belongs.
func ask[R kmsg.Response](ctx context.Context, c *Cluster, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return answer[R](c.client.Request(ctx, req))
}

// askBroker sends a request to one broker.
func askBroker[R kmsg.Response](ctx context.Context, c *Cluster, node int32, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return answer[R](c.client.Broker(int(node)).RetriableRequest(ctx, req))
}

func answer[R kmsg.Response](resp kmsg.Response, err error) (R, error) {
	var none R
	if err != nil {
		return none, err
	}
	r, ok := resp.(R)
	if !ok {
		return none, fmt.Errorf("the broker answers with a %T", resp)
	}
	return r, nil
}

// askAll sends a request to every broker that it concerns, and hands each
// answer to take together with the broker it is from.
func askAll[R kmsg.Response](ctx context.Context, c *Cluster, req kmsg.Request, take func(node int32, resp R) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var failed error
	for _, shard := range c.client.RequestSharded(ctx, req) {
		resp, err := answer[R](shard.Resp, shard.Err)
		if err == nil {
			err = take(shard.Meta.NodeID, resp)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// supports says whether the cluster knows a request.
func (c *Cluster) supports(ctx context.Context, key kmsg.Key) (bool, error) {
	resp, err := ask[*kmsg.ApiVersionsResponse](ctx, c, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == key.Int16() }), nil
}
