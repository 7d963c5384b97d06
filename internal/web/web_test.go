package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"rota"
)

// site is a broker with its page.
type site struct {
	t    *testing.T
	b    *rota.Broker
	http *http.Client
}

func start(t *testing.T, properties map[string]string) *site {
	t.Helper()
	b, err := rota.Start(t.Context(), rota.Config{Web: "127.0.0.1:0", Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{t: t, b: b, http: &http.Client{Timeout: 20 * time.Second}}
	s.until("/readyz", func(status int, _ string) bool { return status == http.StatusOK })
	return s
}

// get asks for a path and returns what came.
func (s *site) get(path string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.b.WebAddr()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(req)
}

func (s *site) do(req *http.Request) (*http.Response, string) {
	s.t.Helper()
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
}

// until asks again until the answer is as wanted.
func (s *site) until(path string, ok func(status int, body string) bool) string {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		resp, body := s.get(path)
		if ok(resp.StatusCode, body) {
			return body
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s still answers %d: %s", path, resp.StatusCode, body)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// contains asks for a path until its answer holds all of the texts.
func (s *site) contains(path string, texts ...string) string {
	s.t.Helper()
	return s.until(path, func(status int, body string) bool {
		for _, text := range texts {
			if !strings.Contains(body, text) {
				return false
			}
		}
		return status == http.StatusOK
	})
}

// consume starts a consumer of a topic and returns when it has an assignment.
func (s *site) consume(group, client string, opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	assigned := make(chan struct{}, 16)
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.b.Addr()), kgo.ConsumerGroup(group), kgo.ConsumeTopics("orders"), kgo.ClientID(client), kgo.AllowAutoTopicCreation(),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.DisableAutoCommit(), kgo.Balancers(kgo.RangeBalancer()),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {
			select {
			case assigned <- struct{}{}:
			default:
			}
		}),
	}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	go func() {
		for !cl.PollFetches(s.t.Context()).IsClientClosed() && s.t.Context().Err() == nil {
		}
	}()
	select {
	case <-assigned:
	case <-time.After(20 * time.Second):
		s.t.Fatal("no assignment")
	}
	return cl
}

// commit commits an offset for a group without members.
func (s *site) commit(group, topic string, offset int64, metadata string) {
	s.t.Helper()
	// Later versions name topics by id.
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.b.Addr()), kgo.MaxVersions(kversion.V3_5_0()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = offset, &metadata
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	resp, err := req.RequestWith(s.t.Context(), cl)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		s.t.Fatalf("commit: %v %+v", err, resp)
	}
}

// produce makes records.
func (s *site) produce(topic string, n int) {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.b.Addr()), kgo.AllowAutoTopicCreation())
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	for range n {
		if err := cl.ProduceSync(s.t.Context(), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A broker without anything has all pages, and they say so.
func TestPagesOfAnEmptyBroker(t *testing.T) {
	s := start(t, nil)
	for path, text := range map[string]string{
		"/":                              "There is no group yet",
		"/topics":                        "__consumer_offsets",
		"/topic?name=__consumer_offsets": "No group has committed",
		"/broker":                        "No request has been answered",
	} {
		if body := s.contains(path, text); strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "<no value>") {
			t.Errorf("%s has a gap", path)
		}
	}
	for _, path := range []string{"/group?id=none", "/topic?name=none", "/nothing"} {
		if resp, body := s.get(path); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "Not found") {
			t.Errorf("%s answers %d", path, resp.StatusCode)
		}
	}
}

// Every answer has the headers that keep strangers out.
func TestHeaders(t *testing.T) {
	s := start(t, nil)
	for _, path := range []string{"/", "/group?id=x", "/assets/page.js", "/api/v1/groups", "/metrics", "/livez", "/nothing"} {
		resp, _ := s.get(path)
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has %v", path, resp.Header)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.b.WebAddr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example:9390"
	if resp, body := s.do(req); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host is answered with %d: %s", resp.StatusCode, body)
	}
	req.Host = ""
	req.Method = http.MethodPost
	if resp, _ := s.do(req); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST is answered with %d", resp.StatusCode)
	}
}

// Whatever strangers call their groups, clients and metadata is text and
// nothing else, on every page and in JSON.
func TestStrangersAreText(t *testing.T) {
	s := start(t, nil)
	const evil = "<script>alert('x')</script>\"' onload=1 \x1b[31m \u202e {{.}} javascript:1 ../..?&#"
	s.consume(evil, "<img src=x onerror=alert(1)>")
	s.produce("orders", 1)
	s.commit("..", "orders", 0, "<b>bold</b>\x00")
	id := url.QueryEscape(evil)
	s.contains("/group?id="+id, `&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;`, `\x1b[31m \u202e`, `&lt;img src=x`)
	s.contains("/group?id=..", `<h1 class="id">..</h1>`)
	for _, path := range []string{"/", "/group?id=" + id, "/topic?name=orders", "/live?page=" + url.QueryEscape("/group?id="+id)} {
		body := s.firstPart(path)
		for _, bad := range []string{"<script>alert", "<img src=x", "\x1b", "\u202e", "<b>bold", `" onload=`, `href="javascript:`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q in it", path, bad)
			}
		}
	}
	body := s.contains("/api/v1/groups", `"total":2`)
	if strings.ContainsAny(body, "<>\x1b\u202e") {
		t.Errorf("JSON has what a terminal would obey: %q", body)
	}
	var list struct{ Groups []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Groups[1].ID != evil {
		t.Errorf("JSON says %q, %v", list.Groups, err)
	}
}

// firstPart is a page, or the first event of a stream.
func (s *site) firstPart(path string) string {
	s.t.Helper()
	if !strings.HasPrefix(path, "/live") {
		_, body := s.get(path)
		return body
	}
	e := s.stream(path)
	return e.next("main")
}

// events reads a stream of server-sent events.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (s *site) stream(path string) *events {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.b.WebAddr()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		s.t.Fatalf("%s is %s", path, kind)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	return &events{s.t, lines}
}

// next is the data of the next event of that name.
func (e *events) next(name string) string {
	e.t.Helper()
	var data strings.Builder
	in := false
	for e.lines.Scan() {
		line := e.lines.Text()
		switch {
		case line == "event: "+name:
			in = true
		case line == "" && in:
			return data.String()
		case in:
			data.WriteString(strings.TrimPrefix(line, "data: ") + "\n")
		}
	}
	e.t.Fatalf("the stream ended: %v", e.lines.Err())
	return ""
}

// A page that is open hears of a new member without asking, and of the
// rebalance that it causes.
func TestLivePage(t *testing.T) {
	s := start(t, map[string]string{"num.partitions": "4", "group.initial.rebalance.delay.ms": "10"})
	s.consume("g", "first")
	page := s.stream("/live?page=" + url.QueryEscape("/group?id=g"))
	told := s.stream("/api/v1/events?group=g")
	if body := page.next("main"); !strings.Contains(body, `data-state="Stable"`) || strings.Contains(body, "second") {
		t.Fatalf("the page begins with %s", body)
	}
	s.consume("g", "second")
	var cause struct{ Kind, Cause string }
	for cause.Kind != "rebalance-started" {
		if err := json.Unmarshal([]byte(told.next("event")), &cause); err != nil {
			t.Fatal(err)
		}
	}
	if cause.Cause != "member-joined" {
		t.Errorf("the event says %+v", cause)
	}
	for {
		body := page.next("main")
		if strings.Contains(body, `data-state="Stable"`) && strings.Contains(body, `Cause: member &#34;second&#34;`) {
			break
		}
	}
	body := s.contains("/api/v1/rebalances?group=g", `"cause":"member-joined"`, "Cause: member")
	if !json.Valid([]byte(body)) {
		t.Error("no JSON")
	}
}

// Where memory holds less than the last day, the page says from when on it counts.
func TestCausesCountedFrom(t *testing.T) {
	s := start(t, map[string]string{"rota.history.memory.bytes": "65536", "group.initial.rebalance.delay.ms": "0"})
	s.consume("g", "stays")
	if body := s.contains("/group?id=g", "The last 24 hours"); strings.Contains(body, "Counted from") {
		t.Error("all that has happened is in memory, and the page says that it is not")
	}
	for i := range 12 { // a group may have a quarter of the memory
		s.consume("g", fmt.Sprint("passes-", i)).Close()
	}
	s.contains("/group?id=g", "Counted from <time datetime=\"20")
	s.contains("/api/v1/group?id=g", `"causes_since_ms":1`)
}

// Lag is what lies between the committed offset and the end.
func TestLag(t *testing.T) {
	s := start(t, nil)
	s.produce("orders", 7)
	s.commit("reader", "orders", 3, "")
	var g struct {
		State   string
		Lag     int64
		Offsets []struct {
			Topic       string
			Offset, Lag int64
			End         int64 `json:"log_end"`
			Expires     int64 `json:"expires_ms"`
			Committed   int64 `json:"committed_ms"`
		}
	}
	_, body := s.get("/api/v1/group?id=reader")
	if err := json.Unmarshal([]byte(body), &g); err != nil {
		t.Fatal(err)
	}
	if g.State != "Empty" || g.Lag != 4 || len(g.Offsets) != 1 || g.Offsets[0].Offset != 3 || g.Offsets[0].End != 7 {
		t.Errorf("got %s", body)
	}
	if week := int64(7 * 24 * time.Hour / time.Millisecond); g.Offsets[0].Expires != g.Offsets[0].Committed+week {
		t.Errorf("the offset expires at %d, committed at %d", g.Offsets[0].Expires, g.Offsets[0].Committed)
	}
}

// Lists are cut, filtered and sorted.
func TestLists(t *testing.T) {
	s := start(t, nil)
	s.produce("orders", 3)
	for i := range 105 {
		s.commit(fmt.Sprintf("g-%03d", i), "orders", int64(i%4), "")
	}
	for path, want := range map[string][]string{
		"/":                                {"page 1 of 2", "g-000", "g-099"},
		"/?page=2":                         {"page 2 of 2", "g-104"},
		"/?page=99":                        {"page 2 of 2"},
		"/?q=G-10":                         {"g-100", "g-104"},
		"/?state=stable":                   {"No group matches"},
		"/?sort=-lag":                      {`aria-sort="descending"`},
		"/topics?q=ord":                    {"orders"},
		"/topics?sort=-bytes":              {"orders"},
		"/topic?name=orders":               {"g-000"},
		"/api/v1/groups?limit=2&offset=1":  {`"total":105`, `"offset":1`, "g-001", "g-002"},
		"/api/v1/groups?sort=-lag&limit=1": {`"lag":3`},
		"/api/v1/topics?internal=false":    {`"total":1`},
		"/api/v1/topic?name=orders":        {`"log_end":3`},
		"/api/v1/broker":                   {`"ready":true`, `"OffsetCommit"`, `"rota.metrics.groups.max"`},
	} {
		s.contains(path, want...)
	}
	for path, status := range map[string]int{
		"/api/v1/groups?limit=x": 400, "/api/v1/group?id=none": 404, "/api/v1/nothing": 404, "/api/v1/topic": 404, "/live?page=x": 400, "/live?page=/no": 404,
	} {
		resp, body := s.get(path)
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(body), &e); err != nil || resp.StatusCode != status || e.Error == "" {
			t.Errorf("%s answers %d %s", path, resp.StatusCode, body)
		}
	}
}
