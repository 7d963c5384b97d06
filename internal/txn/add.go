package txn

import (
	"math"
	"slices"
	"strings"
	"time"

	"rota/internal/schema"
)

// offsetsTopic is the topic that keeps the offsets of groups.
const offsetsTopic = "__consumer_offsets"

// addPartitions adds partitions to the transaction, and begins one with the
// first of them.
func (p *Producer) addPartitions(w waiting, r *AddPartitions) {
	if r.VerifyOnly {
		p.reply(w.ticket, p.verify(r))
		return
	}
	switch code := p.add(r.ProducerID, r.ProducerEpoch, r.Partitions, r.ClientVersion); code {
	case codeConcurrentTransactions:
		p.wait(w)
	default:
		p.reply(w.ticket, refusePartitions(r, code))
	}
}

// addOffsets does the same with the partition that keeps a group.
func (p *Producer) addOffsets(w waiting, r *AddOffsets) {
	partitions := []TopicPartition{{offsetsTopic, r.Partition}}
	if r.VerifyOnly {
		verified := p.verify(&AddPartitions{ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch, Partitions: partitions})
		p.reply(w.ticket, AddedOffsets{verified.Codes[0]})
		return
	}
	switch code := p.add(r.ProducerID, r.ProducerEpoch, partitions, r.ClientVersion); code {
	case codeConcurrentTransactions:
		p.wait(w)
	default:
		p.reply(w.ticket, AddedOffsets{code})
	}
}

// refuseProducer is the code for a producer that does not hold the id.
func (p *Producer) refuseProducer(id int64, epoch int16) Code {
	switch {
	case !p.log.exists || p.log.ProducerID != id:
		return codeInvalidProducerIDMapping
	case p.log.ProducerEpoch != epoch:
		return codeProducerFenced
	}
	return codeNone
}

// verify says which partitions are in the transaction, so that a partition's
// leader can tell a batch of an open transaction from one that comes too late.
func (p *Producer) verify(r *AddPartitions) AddedPartitions {
	code := p.refuseProducer(r.ProducerID, r.ProducerEpoch)
	if code == codeNone && ending(p.log.State) {
		code = codeConcurrentTransactions
	}
	answer := refusePartitions(r, code)
	if code != codeNone {
		return answer
	}
	for i, tp := range r.Partitions {
		if !p.holds(tp) {
			answer.Codes[i] = codeTransactionAbortable
		}
	}
	return answer
}

// add adds partitions. The code CONCURRENT_TRANSACTIONS says that the
// transaction before is still ending.
func (p *Producer) add(id int64, epoch int16, partitions []TopicPartition, version int16) Code {
	if code := p.refuseProducer(id, epoch); code != codeNone {
		return code
	}
	if ending(p.log.State) || p.needsID {
		return codeConcurrentTransactions
	}
	missing := slices.ContainsFunc(partitions, func(tp TopicPartition) bool { return !p.holds(tp) })
	if p.log.State == Ongoing && !missing {
		return codeNone
	}
	v := p.log.TransactionValue
	v.Partitions = merge(v.Partitions, partitions)
	v.ClientVersion = version
	if v.State != Ongoing {
		v.State, v.StartedAt = Ongoing, p.now.Wall
	}
	begins := p.log.State != Ongoing
	if !p.record(v) {
		return codeUnknownServerError
	}
	if begins {
		p.startTimeout(time.Duration(v.TimeoutMillis) * time.Millisecond)
	}
	return codeNone
}

// startTimeout sets the time at which the transaction is aborted: left from
// now, or the look for such transactions that comes next after that.
func (p *Producer) startTimeout(left time.Duration) {
	if p.log.TimeoutMillis == math.MaxInt32 && p.cfg.TwoPhaseCommit {
		p.timeout = never // an outside coordinator decides (KIP-939)
		return
	}
	p.timeout = p.now.Mono + max(left, 0)
	if step := p.cfg.AbortInterval; step > 0 {
		p.timeout = (p.timeout + step - 1) / step * step
	}
}

// holds reports whether the partition is in the transaction.
func (p *Producer) holds(tp TopicPartition) bool {
	i, ok := find(p.log.Partitions, tp.Topic)
	if !ok {
		return false
	}
	_, ok = slices.BinarySearch(p.log.Partitions[i].Partitions, tp.Partition)
	return ok
}

func find(topics []schema.TransactionPartitions, topic string) (int, bool) {
	return slices.BinarySearchFunc(topics, topic, func(t schema.TransactionPartitions, topic string) int { return strings.Compare(t.Topic, topic) })
}

// merge returns the partitions of both, in order; neither is changed.
func merge(topics []schema.TransactionPartitions, more []TopicPartition) []schema.TransactionPartitions {
	merged := slices.Clone(topics)
	for _, tp := range more {
		i, ok := find(merged, tp.Topic)
		if !ok {
			merged = slices.Insert(merged, i, schema.TransactionPartitions{Topic: tp.Topic})
		}
		t := &merged[i]
		if j, ok := slices.BinarySearch(t.Partitions, tp.Partition); !ok {
			t.Partitions = slices.Insert(slices.Clip(slices.Clone(t.Partitions)), j, tp.Partition)
		}
	}
	return merged
}

// partitions lists the partitions of the transaction.
func (p *Producer) partitions() []TopicPartition {
	var list []TopicPartition
	for _, t := range p.log.Partitions {
		for _, partition := range t.Partitions {
			list = append(list, TopicPartition{t.Topic, partition})
		}
	}
	return list
}
