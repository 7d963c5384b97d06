package txn

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/schema"
)

var update = flag.Bool("update", false, "write what happened into the conversations")

// TestConversations plays the files of testdata. A line is
//
//	id NAME key=value ...     the settings: version, client, wait, abort, expiration, 2pc
//	A -> request ...          what a client sends: init, add, verify, offsets, commit, abort, describe
//	markers <- written        the shell has written the markers
//	supply                    the shell brings a producer id
//	+10s                      time passes
//	reload                    the coordinator moves
//	expire                    the look for ids that nobody uses
//	exhaust                   the producer id is at its last epoch
//	client=...                settings that change
//
// and what comes of it:
//
//	A <- ...                  an answer
//	log <- ...                a record
//	markers -> ...            the shell is asked to write markers
//	! ...                     an event
//
// A client goes on with the producer id and epoch that it was told last, unless
// it says producer= and epoch=.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(played), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(played, "\n")); diff != "" {
				t.Errorf("what was written (-) and what happened (+):\n%s", diff)
			}
		})
	}
}

// player plays one conversation and writes down what happens.
type player struct {
	*driver
	out      strings.Builder
	clients  map[string]*identity
	asked    map[Ticket]question
	client   int16
	decision Offset
}

type identity struct {
	producer int64
	epoch    int16
}

type question struct {
	client string
	word   string
}

// play returns the text with what happened in the place of what it says has.
func play(t *testing.T, text string) string {
	p := &player{clients: map[string]*identity{}, asked: map[Ticket]question{}, client: Version0}
	c := DefaultConfig()
	p.driver = newDriver(t, &c)
	p.onRecord, p.onReply, p.onEvent = p.tellRecord, p.tellReply, p.tellEvent
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0][0] == '#':
			p.out.WriteString(line + "\n")
		case strings.Contains(line, " <- ") && words[0] != "markers", strings.HasPrefix(line, "markers -> "), words[0] == "!":
			// told again as it happens
		default:
			p.out.WriteString(line + "\n")
			if err := p.do(words); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			p.compareReplay()
		}
	}
	return p.out.String()
}

func (p *player) do(words []string) error {
	switch {
	case words[0] == "id":
		return p.set(words[2:])
	case strings.Contains(words[0], "="):
		return p.set(words)
	case words[0] == "markers":
		p.quietly(MarkersWritten{Decision: p.decision})
	case words[0] == "supply":
		p.quietly(SupplyProducerID{ProducerID: p.newID()})
	case words[0] == "expire":
		p.step(Expire{})
	case words[0] == "exhaust":
		p.exhaust()
	case words[0] == "reload":
		p.reload()
	case words[0][0] == '+':
		d, err := time.ParseDuration(words[0][1:])
		if err != nil {
			return err
		}
		p.pass(d)
	case len(words) > 2 && words[1] == "->":
		req, err := p.request(words[0], words[2:])
		if err != nil {
			return err
		}
		p.asked[p.ticket+1] = question{words[0], words[2]}
		p.step(req)
	default:
		return errors.New("unknown line")
	}
	return nil
}

// exhaust leaves the producer id with one epoch, as its 32766th end would.
func (p *player) exhaust() {
	v := p.p.log.TransactionValue
	v.ProducerEpoch = math.MaxInt16 - 1
	e := Entry{Offset: Offset(len(p.log)), ProducerID: none, ProducerEpoch: none, Value: schema.AppendTransactionValue(nil, &v, 1)}
	p.log = append(p.log, e)
	if err := p.p.Apply(e); err != nil {
		p.tb.Fatal(err)
	}
	for _, who := range p.clients {
		if who.producer == v.ProducerID {
			who.epoch = v.ProducerEpoch
		}
	}
}

// quietly runs a request of the shell, whose answer says nothing.
func (p *player) quietly(req Request) {
	p.asked[p.ticket+1] = question{}
	p.step(req)
}

func (p *player) set(words []string) error {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(value)
		d, _ := time.ParseDuration(value)
		switch key {
		case "version":
			p.cfg.Version = int16(n)
		case "client":
			p.client = int16(n)
		case "wait":
			p.cfg.Wait = d
		case "abort":
			p.cfg.AbortInterval = d
		case "expiration":
			p.cfg.IDExpiration = d
		case "2pc":
			p.cfg.TwoPhaseCommit = value == "true"
		default:
			return fmt.Errorf("unknown setting %s", key)
		}
	}
	return nil
}

// request reads what a client sends.
func (p *player) request(client string, words []string) (Request, error) {
	who := p.clients[client]
	if who == nil {
		who = &identity{none, none}
		p.clients[client] = who
	}
	producer, epoch, timeout := who.producer, who.epoch, 60*time.Second
	var partitions []TopicPartition
	flags := map[string]bool{}
	var patience time.Duration
	if words[0] == "init" {
		producer, epoch = none, none // unless it says that it goes on
	}
	for _, w := range words[1:] {
		key, value, given := strings.Cut(w, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		i := strings.LastIndex(w, "-")
		switch {
		case key == "producer" && given:
			producer = n
		case key == "epoch" && given:
			epoch = int16(n)
		case key == "timeout" && given:
			timeout, _ = time.ParseDuration(value)
		case w == "continues":
			producer, epoch = who.producer, who.epoch
		case key == "patience" && given:
			patience, _ = time.ParseDuration(value)
		case w == "2pc" || w == "keep":
			flags[w] = true
		case i > 0:
			n, err := strconv.ParseInt(w[i+1:], 10, 32)
			if err != nil {
				return nil, err
			}
			partitions = append(partitions, TopicPartition{w[:i], int32(n)})
		default:
			return nil, fmt.Errorf("unknown word %s", w)
		}
	}
	switch words[0] {
	case "init":
		return InitProducerID{
			TimeoutMillis: int32(timeout.Milliseconds()), ProducerID: producer, ProducerEpoch: epoch,
			TwoPhaseCommit: flags["2pc"], KeepPrepared: flags["keep"], NewProducerID: p.newID(),
		}, nil
	case "add", "verify":
		return AddPartitions{
			ProducerID: producer, ProducerEpoch: epoch, Partitions: partitions,
			VerifyOnly: words[0] == "verify", ClientVersion: p.client, Patience: patience,
		}, nil
	case "offsets":
		return AddOffsets{ProducerID: producer, ProducerEpoch: epoch, Partition: partitions[0].Partition, ClientVersion: p.client}, nil
	case "commit", "abort":
		end := End{ProducerID: producer, ProducerEpoch: epoch, Commit: words[0] == "commit", ClientVersion: p.client, NewProducerID: none}
		if IsExhausted(epoch) {
			end.NewProducerID = p.newID()
		}
		return end, nil
	case "describe":
		return Describe{}, nil
	}
	return nil, fmt.Errorf("unknown request %s", words[0])
}

func (p *player) tellRecord(e Entry) {
	if e.Value == nil {
		p.out.WriteString("log <- tombstone\n")
		return
	}
	v, err := schema.ParseTransactionValue(e.Value)
	if err != nil {
		p.tb.Fatal(err)
	}
	fmt.Fprintf(&p.out, "log <- %s producer=%d epoch=%d", v.State, v.ProducerID, v.ProducerEpoch)
	if v.NextProducerID != none {
		fmt.Fprintf(&p.out, " next=%d", v.NextProducerID)
	}
	for _, t := range v.Partitions {
		for _, partition := range t.Partitions {
			fmt.Fprintf(&p.out, " %s-%d", t.Topic, partition)
		}
	}
	p.out.WriteString("\n")
}

func (p *player) tellEvent(e Event) {
	switch e.Kind {
	case WriteMarkers:
		p.decision = e.Decision
		word := "abort"
		if e.Commit {
			word = "commit"
		}
		fmt.Fprintf(&p.out, "markers -> %s producer=%d epoch=%d%s\n", word, e.ProducerID, e.ProducerEpoch, partitionWords(e.Partitions))
	case NeedProducerID, EventsLost:
		fmt.Fprintf(&p.out, "! %s\n", e.Kind)
	default:
		fmt.Fprintf(&p.out, "! %s producer=%d epoch=%d\n", e.Kind, e.ProducerID, e.ProducerEpoch)
	}
}

func (p *player) tellReply(t Ticket, r Response) {
	q := p.asked[t]
	if q.client == "" {
		return
	}
	who := p.clients[q.client]
	took := ""
	switch r := r.(type) {
	case Initialized:
		if r.Code == codeNone {
			*who = identity{r.ProducerID, r.ProducerEpoch}
			took = fmt.Sprintf(" producer=%d epoch=%d", r.ProducerID, r.ProducerEpoch)
		}
		p.answer(q, r.Code, took)
	case AddedPartitions:
		if r.Code == codeNone && slices.ContainsFunc(r.Codes, func(c Code) bool { return c != codeNone }) {
			for _, c := range r.Codes {
				took += " " + codeName(c)
			}
			fmt.Fprintf(&p.out, "%s <- %s%s\n", q.client, q.word, took)
			return
		}
		p.answer(q, r.Code, "")
	case AddedOffsets:
		p.answer(q, r.Code, "")
	case Ended:
		if r.Code == codeNone && r.ProducerID != none {
			*who = identity{r.ProducerID, r.ProducerEpoch}
			took = fmt.Sprintf(" producer=%d epoch=%d", r.ProducerID, r.ProducerEpoch)
		}
		p.answer(q, r.Code, took)
	case Described:
		if r.Code == codeNone {
			took = fmt.Sprintf(" %s producer=%d epoch=%d timeout=%s", r.State, r.ProducerID, r.ProducerEpoch, time.Duration(r.TimeoutMillis)*time.Millisecond)
			if r.StartedAt != none {
				took += fmt.Sprintf(" started=%s", time.Duration(r.StartedAt-wallOrigin)*time.Millisecond)
			}
			took += partitionWords(r.Partitions)
		}
		p.answer(q, r.Code, took)
	}
}

func (p *player) answer(q question, code Code, more string) {
	fmt.Fprintf(&p.out, "%s <- %s %s%s\n", q.client, q.word, codeName(code), more)
}

func codeName(c Code) string {
	if c == codeNone {
		return "ok"
	}
	if err := kerr.TypedErrorForCode(int16(c)); err != nil {
		return err.Message
	}
	return strconv.Itoa(int(c))
}

func partitionWords(list []TopicPartition) string {
	var b strings.Builder
	for _, tp := range list {
		fmt.Fprintf(&b, " %s-%d", tp.Topic, tp.Partition)
	}
	return b.String()
}
