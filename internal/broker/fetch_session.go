package broker

import (
	"container/list"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rota/internal/storage"
)

// Fetch sessions (KIP-227): the broker remembers which partitions a consumer
// fetches and from where, so that its requests name only what changed, and the
// answers only what is new.

const (
	// noSession is the session id of requests and answers without session.
	noSession = 0
	// firstEpoch asks for a new session, finalEpoch for none.
	firstEpoch, finalEpoch = 0, -1
	// sessionRest is how long a session must not have been used before it may
	// give way to a new one.
	sessionRest = 2 * time.Minute
	// maxSessionPartitions bounds the partitions of all sessions together.
	maxSessionPartitions = 200_000
)

// fetchSessions is the cache of sessions. It outlives connections: a consumer
// may come back on another one.
type fetchSessions struct {
	slots int
	most  int // partitions of all sessions together
	now   func() time.Time

	mu         sync.Mutex
	random     *rand.Rand
	byID       map[int32]*fetchSession
	byUse      *list.List // of *fetchSession, the one used last at the back
	partitions int
}

func newFetchSessions(slots int, now func() time.Time, seed uint64) *fetchSessions {
	return &fetchSessions{
		slots: slots, most: maxSessionPartitions, now: now,
		random: rand.New(rand.NewPCG(seed, seed>>32)), //nolint:gosec // ids are names, not secrets
		byID:   map[int32]*fetchSession{}, byUse: list.New(),
	}
}

// fetchSession is what is remembered of one consumer.
type fetchSession struct {
	id   int32
	byID bool // partitions are named by topic id (v13) or by name
	use  *list.Element
	used time.Time // guarded by fetchSessions.mu, as use is
	size int       // partitions that are counted in the cache

	mu    sync.Mutex
	epoch int32      // of the next request
	parts *list.List // of *sessionPartition, in the order in which they are read
	byKey map[partitionKey]*list.Element
}

// partitionKey names a partition as the client does.
type partitionKey struct {
	name  string
	id    storage.TopicID
	index int32
}

// sessionPartition is one partition of a session, and what the consumer was
// last told of it.
type sessionPartition struct {
	asked        FetchPartition
	sentHW       int64
	sentLogStart int64
}

// FetchSession is the session part of a Fetch request.
type FetchSession struct {
	ID, Epoch int32
	ByID      bool
	// Forgotten are the partitions that an incremental request drops.
	Forgotten []FetchPartition
}

// resolve finds the session that the request means and applies the request to
// it. It returns nil if there is none to be used. Errors:
// FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
// FETCH_SESSION_TOPIC_ID_ERROR.
func (c *fetchSessions) resolve(s FetchSession, asked []FetchPartition) (_ *fetchSession, incremental bool, _ *kerr.Error) {
	if s.Epoch == finalEpoch || s.Epoch == firstEpoch {
		if s.ID != noSession {
			c.remove(s.ID)
		}
		if s.Epoch == finalEpoch {
			return nil, false, nil
		}
		return c.add(s.ByID, asked), false, nil
	}
	found := c.touch(s.ID)
	if found == nil {
		return nil, false, kerr.FetchSessionIDNotFound
	}
	size, err := found.update(s, asked)
	if err != nil {
		return nil, false, err
	}
	c.resize(found, size)
	return found, true, nil
}

// touch finds a session and notes its use.
func (c *fetchSessions) touch(id int32) *fetchSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byID[id]
	if s != nil {
		s.used = c.now()
		c.byUse.MoveToBack(s.use)
	}
	return s
}

// add makes a session, or returns nil if there is no room for one.
func (c *fetchSessions) add(byID bool, asked []FetchPartition) *fetchSession {
	s := &fetchSession{byID: byID, epoch: 1, size: len(asked), parts: list.New(), byKey: make(map[partitionKey]*list.Element, len(asked))}
	for i := range asked {
		s.put(&asked[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.makeRoomLocked(s.size) {
		return nil
	}
	for s.id == noSession || c.byID[s.id] != nil {
		s.id = c.random.Int32N(math.MaxInt32) + 1
	}
	s.used = c.now()
	s.use = c.byUse.PushBack(s)
	c.byID[s.id] = s
	c.partitions += s.size
	return s
}

// makeRoomLocked makes room for one more session, if necessary at the cost of
// the one that has not been used for longest.
func (c *fetchSessions) makeRoomLocked(size int) bool {
	for len(c.byID) >= c.slots || c.partitions+size > c.most {
		oldest := c.byUse.Front()
		if oldest == nil {
			return false
		}
		s, _ := oldest.Value.(*fetchSession)
		if c.now().Sub(s.used) < sessionRest {
			return false
		}
		c.removeLocked(s)
	}
	return true
}

func (c *fetchSessions) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.byID[id]; s != nil {
		c.removeLocked(s)
	}
}

func (c *fetchSessions) removeLocked(s *fetchSession) {
	delete(c.byID, s.id)
	c.byUse.Remove(s.use)
	c.partitions -= s.size
}

// resize counts the partitions of a session anew. One that would be too many
// ends with its next request.
func (c *fetchSessions) resize(s *fetchSession, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[s.id] != s || size == s.size {
		return
	}
	c.partitions += size - s.size
	s.size = size
	if c.partitions > c.most {
		c.removeLocked(s)
	}
}

// count returns the number of sessions and of their partitions.
func (c *fetchSessions) count() (sessions, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID), c.partitions
}

// update applies an incremental request and returns how many partitions the
// session has then.
func (s *fetchSession) update(req FetchSession, asked []FetchPartition) (int, *kerr.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case req.Epoch != s.epoch:
		return 0, kerr.InvalidFetchSessionEpoch
	case req.ByID != s.byID:
		return 0, kerr.FetchSessionTopicIDError
	}
	if s.epoch == math.MaxInt32 {
		s.epoch = 0
	}
	s.epoch++
	for i := range asked {
		s.put(&asked[i])
	}
	for i := range req.Forgotten {
		key := req.Forgotten[i].key()
		if e := s.byKey[key]; e != nil {
			s.parts.Remove(e)
			delete(s.byKey, key)
		}
	}
	return s.parts.Len(), nil
}

// put adds a partition or replaces what is asked of it.
func (s *fetchSession) put(asked *FetchPartition) {
	key := asked.key()
	if e := s.byKey[key]; e != nil {
		p, _ := e.Value.(*sessionPartition)
		p.asked = *asked
		return
	}
	s.byKey[key] = s.parts.PushBack(&sessionPartition{asked: *asked, sentHW: -1, sentLogStart: -1})
}

// snapshot appends the session's partitions, in the order in which they are to
// be read.
func (s *fetchSession) snapshot(into []FetchPartition) []FetchPartition {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.parts.Front(); e != nil; e = e.Next() {
		p, _ := e.Value.(*sessionPartition)
		into = append(into, p.asked)
		last := &into[len(into)-1]
		last.sentHW, last.sentLogStart = p.sentHW, p.sentLogStart
	}
	return into
}

// sent notes what the consumer is told of a partition. One that got records
// goes to the end of the order, so that none is starved by those before it.
func (s *fetchSession) sent(key partitionKey, hw, logStart int64, records bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return
	}
	p, _ := e.Value.(*sessionPartition)
	p.sentHW, p.sentLogStart = hw, logStart
	if records {
		s.parts.MoveToBack(e)
	}
}
