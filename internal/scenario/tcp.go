package scenario

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rota/internal/group"
)

// Options say how a file plays over TCP.
type Options struct {
	// Scale multiplies every time of the file: 0.1 plays ten times as fast. The
	// broker must run with the file's Settings of the same scale. Default 1.
	Scale float64
	// Slack is how much later than written something may come. Default 3 s.
	Slack time.Duration
	// Early is how much earlier than written something may come: what the
	// clocks of two programs and the way between them may differ by. Default
	// 40 ms.
	Early time.Duration
	// Settle is how long a request that is to wait is given to arrive, since
	// nothing answers it. Default 30 ms.
	Settle time.Duration
	// Prefix is put before the group ids of the file, so that many plays can
	// share a broker. Default none.
	Prefix string
	// Restart restarts the broker and returns its address; nil if it cannot be.
	Restart func(context.Context) (addr string, err error)
	// Dial connects to the broker. Default: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Kafka says that the broker is not Rota: files that play choices of ours
	// are not for it.
	Kafka bool
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, byDefault time.Duration) {
		if *d == 0 {
			*d = byDefault
		}
	}
	set(&o.Slack, 3*time.Second)
	set(&o.Early, 40*time.Millisecond)
	set(&o.Settle, 30*time.Millisecond)
	if o.Scale == 0 {
		o.Scale = 1
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	return o
}

// Unplayable says why the file cannot play over TCP with these options, or "".
func Unplayable(f *File, o Options) string {
	o = o.withDefaults()
	if reason, ok := f.Header("core-only"); ok {
		return reason
	}
	if reason, ok := f.Header("ours"); ok && o.Kafka {
		return "a choice of ours: " + reason
	}
	if reason, ok := f.Header("real-time"); ok && o.Scale != 1 {
		return "not at this scale: " + reason
	}
	for _, b := range f.Blocks {
		if b.Input.Kind == Command && b.Input.Words[0] == "restart" && o.Restart == nil {
			return "the broker cannot be restarted"
		}
	}
	return ""
}

// Play plays the scenario against the broker at addr, in real time, and
// returns what happened as far as it can be seen from outside: replies, when
// they came, and the state and members of groups. Batches, events, and the
// generation and leader in a state are taken as written. It stops at the first
// difference. The error says that the play itself went wrong.
func Play(ctx context.Context, addr string, f *File, o Options) (*File, error) {
	if reason := Unplayable(f, o); reason != "" {
		return nil, fmt.Errorf("%s: %s", f.Name, reason)
	}
	p := &player{
		o: o.withDefaults(), addr: addr, compiler: newCompiler(f), names: newNames(o.Prefix),
		clients: map[string]*client{}, came: map[string]chan answer{}, coordinators: map[string]string{},
		producers: map[int64]*txnProducer{},
	}
	defer p.closeAll()
	if err := p.awaitLoaded(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if err := p.createTopics(ctx, f); err != nil {
		return nil, fmt.Errorf("%s: topics: %w", f.Name, err)
	}
	happened := &File{Name: f.Name, Headers: f.Headers, Tail: f.Tail}
	p.anchor(0, time.Now())
	for i := range f.Blocks {
		b := &f.Blocks[i]
		out, err := p.block(ctx, b)
		happened.Blocks = append(happened.Blocks, out)
		if err != nil || !sameBody(b.Body, out.Body) {
			happened.Blocks = append(happened.Blocks, f.Blocks[i+1:]...)
			if err != nil {
				err = fmt.Errorf("%s:%d: %s: %w", f.Name, b.Input.Number, b.Input.canonical(), err)
			}
			return happened, err
		}
	}
	return happened, nil
}

func sameBody(a, b []Line) bool {
	return slices.EqualFunc(a, b, func(x, y Line) bool { return x.String() == y.String() })
}

// player is one play over TCP.
type player struct {
	o        Options
	addr     string
	compiler *compiler
	names    *names
	// clients are the connections, by client and coordinator; came are the
	// answers to each client.
	clients      map[string]*client
	came         map[string]chan answer
	coordinators map[string]string // by group
	producers    map[int64]*txnProducer
	host         string // what the broker calls our address

	// The clock: the moment of the file that was at a moment of ours.
	virtual time.Duration
	real    time.Time
	elapsed time.Duration // of the file
}

func (p *player) anchor(virtual time.Duration, real time.Time) {
	p.virtual, p.real, p.elapsed = virtual, real, virtual
}

// due is when a moment of the file is.
func (p *player) due(virtual time.Duration) time.Time {
	return p.real.Add(time.Duration(float64(virtual-p.virtual) * p.o.Scale))
}

// block plays one input and what is to come of it.
func (p *player) block(ctx context.Context, b *Block) (Block, error) {
	st, err := p.compiler.compile(&b.Input)
	if err != nil {
		return *b, err
	}
	stops := cutAtStops(b.Body)
	segments := make([]segment, 1, len(stops))
	if st.command == "+" {
		end := p.elapsed + st.duration
		for _, s := range stops[1:] {
			seg, err := p.watchStop(ctx, s)
			segments = append(segments, seg)
			if err != nil {
				return *b, err
			}
		}
		// What remains of the time passes even if nothing is written of it.
		if err := sleepUntil(ctx, p.due(end)); err != nil {
			return *b, err
		}
		p.elapsed = end
	} else if err := p.do(ctx, &st); err != nil {
		return *b, err
	}
	segments[0], err = p.watch(ctx, stops[0], time.Time{}, time.Now().Add(p.o.Slack))
	if err != nil {
		return *b, err
	}
	if st.call != nil && !slices.ContainsFunc(b.Body, func(l Line) bool { return l.Kind == Reply }) {
		if err := sleepUntil(ctx, time.Now().Add(p.o.Settle)); err != nil {
			return *b, err
		}
	}
	last := &segments[len(segments)-1]
	last.lines = append(last.lines, p.unexpected()...)
	return matchBlock(b, segments, p.compiler.currentName()), nil
}

// watchStop waits for what is to happen at a moment of the file, neither much
// earlier nor much later, and sets the clock by it.
func (p *player) watchStop(ctx context.Context, s *stop) (segment, error) {
	due := p.due(s.at)
	if !slices.ContainsFunc(s.lines, func(l Line) bool { return l.Kind == Reply }) {
		// Nothing but the state will tell, and that may look the same before.
		if err := sleepUntil(ctx, due.Add(-p.o.Early)); err != nil {
			return segment{}, err
		}
	}
	seg, err := p.watch(ctx, s, due.Add(-p.o.Early), due.Add(p.o.Slack))
	seg.at = s.at
	for _, l := range s.lines {
		if l.Kind == State {
			seg.changed = append(seg.changed, stateGroup(l, p.compiler.currentName()))
		}
	}
	// The clock goes by when it happened, not by when we had looked at it.
	p.anchor(s.at, seg.seen)
	return seg, err
}

// watch waits for the replies and states that are written, each until the
// deadline at most. A reply before earliest is marked as such.
func (p *player) watch(ctx context.Context, s *stop, earliest, deadline time.Time) (segment, error) {
	seg := segment{at: -1, states: map[string]string{}}
	type pair struct {
		expected Line
		answer   answer
	}
	var pairs []pair
	for _, l := range s.lines {
		switch l.Kind {
		case Reply:
			a, ok, err := p.await(ctx, l.Who, deadline)
			if err != nil {
				return seg, err
			}
			if ok {
				pairs = append(pairs, pair{l, a})
			}
		case LogOutput:
			seg.lines = append(seg.lines, l) // not to be seen from outside
		case Event:
			seg.events = append(seg.events, l)
		case Note, Header, Command, Request, Stop, State: // states come last
		}
	}
	for _, pr := range pairs {
		if err := p.learn(pr.expected, pr.answer); err != nil {
			return seg, err
		}
	}
	for _, pr := range pairs {
		if pr.answer.at.After(seg.seen) {
			seg.seen = pr.answer.at
		}
		l, err := p.replyLine(pr.answer)
		if err != nil {
			return seg, err
		}
		if early := earliest.Sub(pr.answer.at); early > 0 {
			l.Words = append(l.Words, "too-early="+early.Round(time.Millisecond).String())
		}
		seg.lines = append(seg.lines, l)
	}
	for _, l := range s.lines {
		if l.Kind == State {
			name := stateGroup(l, p.compiler.currentName())
			words, err := p.awaitState(ctx, name, l, deadline)
			if err != nil {
				return seg, err
			}
			seg.states[name] = words
		}
	}
	if seg.seen.IsZero() {
		seg.seen = time.Now()
	}
	return seg, nil
}

// await takes the next answer to a client.
func (p *player) await(ctx context.Context, client string, deadline time.Time) (answer, bool, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case a := <-p.answersOf(client):
		if a.err != nil {
			return a, false, fmt.Errorf("the connection of %s: %w", client, a.err)
		}
		return a, true, nil
	case <-timer.C:
		return answer{}, false, nil
	case <-ctx.Done():
		return answer{}, false, ctx.Err()
	}
}

func (p *player) answersOf(client string) chan answer {
	if p.came[client] == nil {
		p.came[client] = make(chan answer, maxOpen)
	}
	return p.came[client]
}

// unexpected takes the answers that nothing in the file has waited for.
func (p *player) unexpected() []Line {
	var lines []Line
	for _, name := range slices.Sorted(maps.Keys(p.came)) {
		for {
			select {
			case a := <-p.came[name]:
				l, err := Line{Kind: Reply, Who: name, Words: []string{"disconnected"}}, a.err
				if err == nil {
					l, err = p.replyLine(a)
				}
				if err != nil {
					l.Words = append(l.Words, quote(err.Error()))
				}
				lines = append(lines, l)
				continue
			default:
			}
			break
		}
	}
	return lines
}

func (p *player) learn(expected Line, a answer) error {
	if a.call.verb == "list" {
		return nil
	}
	body, err := wireAnswer(a.call, a.response)
	if err != nil {
		return err
	}
	return p.names.learn(expected, a.call, body)
}

// replyLine writes an answer in the names of the file.
func (p *player) replyLine(a answer) (Line, error) {
	l := Line{Kind: Reply, Who: a.call.client}
	if r, ok := a.response.(*kmsg.ListGroupsResponse); ok {
		code, list := wireList(r)
		l.Words = listWords(code, p.ownGroups(list))
		return l, nil
	}
	body, err := wireAnswer(a.call, a.response)
	if err != nil {
		return l, err
	}
	body = p.names.incoming(a.call.group, body)
	if d, ok := body.(group.Described); ok {
		for i := range d.Members {
			if d.Members[i].ClientHost == p.host {
				d.Members[i].ClientHost = "/127.0.0.1"
			}
		}
	}
	l.Words = answerWords(a.call, body)
	return l, nil
}

// ownGroups are the groups of a list that the file names, in its names.
func (p *player) ownGroups(list []group.Summary) []group.Summary {
	var own []group.Summary
	for _, g := range list {
		if name, ok := p.names.groupName(g.ID); ok && p.compiler.groups[name] != nil {
			g.ID = name
			own = append(own, g)
		}
	}
	slices.SortFunc(own, func(a, b group.Summary) int { return strings.Compare(a.ID, b.ID) })
	return own
}

func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
